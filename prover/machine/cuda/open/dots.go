package open

import (
	"cmp"
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// DotTable has two tables that rowSums needs, both with a row for each long row: the products of
// committed rows with the eq tables of parts, and the weights of these rows. A column belongs to a
// group of parts at one place in the long row, or to a joined row.
type DotTable struct {
	*Rows
	a          *device.Scope // of the tables
	q          *whir.Functional
	claims     *Claims
	Longs, n   int // long rows, and rows in each
	groups     []partGroup
	from, to   int    // places whose rows are on the device
	long, some int    // and long rows that have some: from one on, so many
	has        []bool // places where there are rows
	before     []int  // planes of these at the places before each
	first      []int  // of a group, the column of its first place
	joined     int    // the column of the first joined row
	Columns    int    // a multiple of 4
	Products   kernels.Ptr
	weights    []kernels.PlacedElement
	listed     chan struct{} // closed when the weights are
}

// newDotTable returns a table for claims, of which joined rows are by their places, without its
// products.
func newDotTable(a *device.Scope, r *Rows, q *whir.Functional, c *Claims, longs int) *DotTable {
	t := &DotTable{Rows: r, a: a, q: q, claims: c, Longs: longs, n: len(r.At) / longs}
	t.groups = r.partGroups(q, c.each, t.n)
	t.first = make([]int, len(t.groups))
	for i := range t.groups {
		t.first[i] = t.joined
		t.joined += t.groups[i].columns()
	}
	t.Columns = max(4, (t.joined+len(c.joined)+3)&^3)
	t.Products = device.NewArray[field.QM31](a, t.Longs*t.Columns)
	device.Check(a.Clear(t.Products, device.ElementBytes*t.Longs*t.Columns))
	return t
}

// listWeights has the weights of rows listed while the products are made. They are for pair.
func (t *DotTable) listWeights() {
	t.listed = make(chan struct{})
	go func() {
		defer close(t.listed)
		t.setWeights()
	}()
}

// setWeights lists the weights of rows: those of parts of a group that have a row in common
// are added up.
func (t *DotTable) setWeights() {
	type entry struct{ group, at int } // the last group that has a row, and where in the list
	seen := make([]entry, t.Longs*t.n)
	most := len(t.claims.joined)
	for _, part := range t.claims.each {
		most += len(t.q.Parts[part].RowWeights)
	}
	t.weights = make([]kernels.PlacedElement, 0, most)
	put := func(row, column int, w field.QM31) {
		t.weights = append(t.weights, kernels.PlacedElement{At: uint64(row/t.n*t.Columns + column), Value: w})
	}
	for i := range t.groups {
		g := &t.groups[i]
		for _, part := range g.parts {
			p := &t.q.Parts[part]
			for b, w := range p.RowWeights {
				row := p.FirstRow + b
				if e := seen[row]; e.group == i+1 {
					v := &t.weights[e.at].Value
					*v = v.Add(w)
					continue
				}
				seen[row] = entry{i + 1, len(t.weights)}
				put(row, t.first[i]+g.column(row%t.n), w)
			}
		}
	}
	for k, j := range t.claims.joined { // their coefficients are in the products
		put(j.row, t.joined+k, field.One)
	}
}

// Pair returns the tables for the rounds, when the weights have been listed.
func (t *DotTable) Pair() pair {
	<-t.listed
	n := t.Longs * t.Columns
	if n <= t.Stream.Context.HostPair {
		p := &whir.Pair{F: device.Fetch[field.QM31](t.a, t.Products, n), Q: make([]field.QM31, n)}
		for _, w := range t.weights {
			p.Q[w.At] = w.Value
		}
		return p
	}
	q := device.NewArray[field.QM31](t.a, n)
	device.Check(t.a.Clear(q, device.ElementBytes*n))
	if len(t.weights) > 0 {
		list := device.NewCopy(t.a, t.weights)
		device.Check(kernels.PutElements(t.a, q, list, len(t.weights)))
		t.a.Free(list)
	}
	return &Tables{Stream: t.Stream, Mem: t.a, F: t.Products, Q: q, N: n}
}

// part returns a part of a group; in what products are made of they are alike.
func (t *DotTable) part(group int) *whir.Part { return &t.q.Parts[t.groups[group].parts[0]] }

// weight returns the number of a group's eq table.
func (t *DotTable) weight(group int) int { return t.Rows.weightsOf(t.q).of[t.groups[group].parts[0]] }

// runs returns the runs of a group as far as their rows are on the device.
func (t *DotTable) runs(group int) []placeRun {
	all := t.groups[group].runs
	if t.from == 0 && t.to == t.n {
		return all
	}
	var some []placeRun
	for _, r := range all {
		if from, to := max(r.from, t.from), min(r.to, t.to); from < to {
			some = append(some, placeRun{from, to, r.column + from - r.from})
		}
	}
	return some
}

// dots computes the products of all groups with the rows that are on the device.
func (t *DotTable) dots() {
	var light, heavy, factored []int
	for i := range t.groups {
		switch s := spanOf(t.part(i)); {
		case !slices.ContainsFunc(t.runs(i), t.hasRows):
		case s.onTensorCores() && s.vars > t.Stream.Context.LowVars:
			factored = append(factored, i)
		case s.onTensorCores():
			heavy = append(heavy, i)
		default:
			light = append(light, i)
		}
	}
	t.lightDots(light)
	if len(factored) > 0 {
		t.factoredDots(factored)
	}
	// Groups of the same places together: those that have a place share its rows' way to the processors.
	slices.SortStableFunc(heavy, func(x, y int) int { return t.groups[x].runs[0].from - t.groups[y].runs[0].from })
	for len(heavy) > 0 {
		n, bytes := 0, 0
		for n < len(heavy) && (n == 0 || bytes < panelBytes) {
			bytes += kernels.PanelBytes(len(t.part(heavy[n]).Low))
			n++
		}
		t.heavyDots(heavy[:n])
		heavy = heavy[n:]
	}
}

// on says that the rows at places from to to−1 are on the device, as far as there are any.
func (t *DotTable) on(from, to int) {
	t.from, t.to, t.has, t.before = from, to, make([]bool, t.n), make([]int, t.n+1)
	t.long, t.some = t.Longs, 0
	for i, row := range t.At {
		if l := i % t.n; row.Width > 0 && l >= from && l < to {
			t.has[l] = true
			t.before[l+1] += row.Width
			t.long = min(t.long, i/t.n)
			t.some = i/t.n + 1 - t.long
		}
	}
	for l := range t.n {
		t.before[l+1] += t.before[l]
	}
}

// hasRows says whether there are rows here at some of the places, in any long row.
func (t *DotTable) hasRows(places placeRun) bool {
	return slices.Contains(t.has[places.from:places.to], true)
}

// finish adds the products of the long rows that there are to the table.
func (t *DotTable) finish(a *device.Scope, done []kernels.FinishDot) {
	device.Check(kernels.FinishDots(a, kernels.At[field.QM31](t.Products, t.long*t.Columns), t.some, t.Columns, done))
}

// class is a range of columns: 2^vars from one on.
type class struct{ column, vars int }

// lightDots does groups by multiply-adds.
func (t *DotTable) lightDots(groups []int) {
	if len(groups) == 0 {
		return
	}
	a := device.NewScope(t.a)
	defer a.Close()
	w := t.weightsOf(t.q)
	var jobs []kernels.DotJob
	var vars []int
	var done []kernels.FinishDot
	for _, i := range groups {
		p, weight := t.part(i), t.weight(i)
		for _, x := range t.runs(i) {
			for l := x.from; l < x.to; l++ {
				done = append(done, kernels.FinishDot{Limb: 1, Target: kernels.SumWords, Places: 1, Pitch: 1, Column: uint64(t.first[i] + x.column + l - x.from)})
				for h := range t.some {
					row := t.At[(t.long+h)*t.n+l]
					jobs = append(jobs, kernels.DotJob{Bytes: row.At.Offset(p.Column, 1), Part: uint64(weight), Stride: uint64(p.Stride), Width: uint64(row.Width), Pitch: uint64(t.Pitch), Bias: uint64(row.bias())})
					vars = append(vars, w.vars[weight])
				}
			}
		}
	}
	first, l := kernels.WeightLaunch(vars)
	sums := device.NewWords(a, kernels.SumWords*len(jobs))
	device.Check(kernels.Dots(a, sums, device.NewCopy(a, first), l, device.NewCopy(a, jobs), len(jobs), w.parts, w.tables))
	for i := range done {
		done[i].Sums = kernels.At[uint64](sums, kernels.SumWords*t.some*i)
	}
	t.finish(a, done)
}

// limbs is the number of base-field values of an element of K.
const limbs = 4

// products lists the work of the tensor cores: products of groups with rows, by class. Groups of a class that have the same places share
// one product.
type products struct {
	classes        []class
	members        map[class][]int // groups
	each           []product
	numbers        []uint64 // of all products: each panel's among those of the class
	rows           []kernels.ByteRow
	constants      []uint32 // biases of targets
	words, wanted  int      // of sums; of what is wanted of them
	weights        []uint64 // of all classes, in their order
	sums, biasesAt kernels.Ptr
}

type product struct {
	segment
	class
	panels  int // of all classes before its own
	targets int // from `biases` on
	numbers int // before its own
	words   int
	biases  int
	from    int // rows
	to      int
}

// productsOf lists the products of groups. merge says that those at places next to each other may be taken together.
func (t *DotTable) productsOf(groups []int, merge bool) *products {
	all := &products{members: map[class][]int{}}
	for _, i := range groups {
		p := t.part(i)
		c := class{p.Column, len(p.Low)}
		if all.members[c] == nil {
			all.classes = append(all.classes, c)
		}
		all.members[c] = append(all.members[c], i)
	}
	// Classes of as many columns lie together: their panels are made in one launch.
	slices.SortStableFunc(all.classes, func(x, y class) int { return x.vars - y.vars })
	planes, targets := 0, 0
	for _, c := range all.classes {
		of := all.members[c]
		runs := make([][]placeRun, len(of))
		panels := len(all.weights)
		for k, i := range of {
			all.weights, runs[k] = append(all.weights, uint64(t.weight(i))), t.runs(i)
		}
		some := segments(runs)
		if merge {
			some = t.merged(some)
		}
		for _, s := range some {
			n := t.planes(s)
			if n == 0 {
				continue
			}
			own := t.some * (s.to - s.from)
			all.each = append(all.each, product{
				segment: s, class: c, panels: panels, targets: own, numbers: len(all.numbers), words: all.words, biases: targets, from: planes, to: planes + n,
			})
			planes, targets = planes+n, targets+own
			all.numbers = append(all.numbers, s.of...)
			all.words += limbs * len(s.of) * own
			all.wanted += len(s.of)
		}
	}
	all.rows, all.constants = make([]kernels.ByteRow, planes), make([]uint32, targets)
	parallel.For(len(all.each), 1, func(from, to int) {
		for i := from; i < to; i++ {
			p := &all.each[i]
			t.listRows(all.rows[p.from:p.from:p.to], all.constants[p.biases:p.biases:p.biases+p.targets], p.segment)
		}
	})
	return all
}

// begin puts what all products have in common on the device, and returns the product of the i-th with panels of so many pieces each.
func (l *products) begin(a *device.Scope) func(i int, panels kernels.Ptr, vars int) kernels.ByteProduct {
	numbers, rows := device.NewCopy(a, l.numbers), device.NewCopy(a, l.rows)
	l.biasesAt, l.sums = device.NewCopy(a, l.constants), device.NewWords(a, l.words)
	return func(i int, panels kernels.Ptr, vars int) kernels.ByteProduct {
		p := &l.each[i]
		return kernels.ByteProduct{
			Weights: panels, Numbers: kernels.At[uint64](numbers, p.numbers),
			Rows: kernels.At[kernels.ByteRow](rows, p.from), Sums: kernels.At[uint64](l.sums, p.words),
			Panels: uint32(len(p.segment.of)), Count: uint32(p.to - p.from), Targets: uint32(p.targets), Pieces: kernels.Pieces(vars), Column: uint32(p.column),
		}
	}
}

// finishProducts adds what is wanted of products to the table.
func (t *DotTable) finishProducts(a *device.Scope, l *products) {
	done := make([]kernels.FinishDot, 0, l.wanted)
	for _, p := range l.each {
		at := kernels.At[uint64](l.sums, p.words)
		for k, number := range p.segment.of {
			g := l.members[p.class][number]
			for _, x := range t.runs(g) {
				from, to := max(x.from, p.segment.from), min(x.to, p.segment.to)
				if from >= to {
					continue
				}
				own := from - p.segment.from
				done = append(done, kernels.FinishDot{
					Sums: kernels.At[uint64](at, limbs*k*p.targets+own), Biases: kernels.At[uint32](l.biasesAt, p.biases+own),
					Limb: uint32(p.targets), Target: 1, Places: uint32(to - from), Pitch: uint32(p.segment.to - p.segment.from),
					Column: uint64(t.first[g] + x.column + from - x.from), Coef: field.One, // an eq table adds up to 1
				})
			}
		}
	}
	t.finish(a, done)
}

// heavyDots does groups on the tensor cores, all in one launch, as there are thousands of small ones.
func (t *DotTable) heavyDots(groups []int) {
	a := device.NewScope(t.a)
	defer a.Close()
	all := t.productsOf(groups, true)
	if len(all.each) == 0 {
		return
	}
	w := t.weightsOf(t.q)
	product, numbers := all.begin(a), device.NewCopy(a, all.weights)
	size := 0
	for _, c := range all.classes {
		size += len(all.members[c]) * kernels.PanelBytes(c.vars)
	}
	panels := device.NewArray[int8](a, size)
	at, next := make(map[class]kernels.Ptr, len(all.classes)), panels
	for i := 0; i < len(all.classes); {
		vars, first, count := all.classes[i].vars, next, 0
		for ; i < len(all.classes) && all.classes[i].vars == vars; i++ {
			own := len(all.members[all.classes[i]])
			at[all.classes[i]] = next
			count, next = count+own, next.Offset(own, kernels.PanelBytes(vars))
		}
		device.Check(kernels.PackParts(a, first, numbers, count, vars, w.parts, w.tables))
		numbers = kernels.At[uint64](numbers, count)
	}
	jobs := make([]kernels.ByteProduct, len(all.each))
	for i, p := range all.each {
		jobs[i] = product(i, at[p.class], p.vars)
	}
	device.Check(kernels.AddByteProducts(a, jobs...))
	t.finishProducts(a, all)
}

// factoredDots does groups on the tensor cores whose eq tables are long: each is the product of a table over the lowest indexes and one over
// the others, of which the first alone is made as a panel (kernels.SegmentProduct).
func (t *DotTable) factoredDots(groups []int) {
	a := device.NewScope(t.a)
	defer a.Close()
	all := t.productsOf(groups, false)
	if len(all.each) == 0 {
		return
	}
	w, low := t.factoredOf(t.q), t.Stream.Context.LowVars
	product := all.begin(a)
	lows, highs := make([]uint64, len(all.weights)), make([]uint64, len(all.numbers))
	for i, number := range all.weights {
		lows[i] = uint64(w.of[number])
	}
	most, least := 0, 0 // bytes for all rows, and for one
	for _, p := range all.each {
		for k, number := range p.segment.of {
			highs[p.numbers+k] = lows[p.panels+int(number)] + 1
		}
		row := kernels.SegmentBytes(len(p.segment.of), p.vars-low)
		most, least = most+row*(p.to-p.from), max(least, row)
	}
	panels, size := device.NewArray[int8](a, len(lows)*kernels.PanelBytes(low)), kernels.PanelBytes(low)
	device.Check(kernels.PackParts(a, panels, device.NewCopy(a, lows), len(lows), low, w.parts, w.tables))
	high, room := device.NewCopy(a, highs), max(least, min(most, panelBytes))
	jobs := make([]kernels.SegmentProduct, len(all.each))
	for i, p := range all.each {
		jobs[i] = kernels.SegmentProduct{ByteProduct: product(i, panels.Offset(p.panels, size), low), High: kernels.At[uint64](high, p.numbers), Segments: p.vars - low}
	}
	device.Check(kernels.AddSegmentProducts(a, device.NewArray[uint8](a, room), room, w.parts, w.tables, jobs...))
	t.finishProducts(a, all)
}

// planes returns how many planes have the rows at the places of a segment.
func (t *DotTable) planes(s segment) int { return t.before[s.to] - t.before[s.from] }

// merged takes segments that are next to each other as one, with the groups of both, as long as that
// costs less, though it makes products that nobody wants: a few rows read all panels.
func (t *DotTable) merged(all []segment) []segment {
	var some []segment
	wanted := 0 // products of a row at each place of the last
	for _, s := range all {
		own := len(s.of) * (s.to - s.from)
		if n := len(some); n > 0 && some[n-1].to == s.from {
			last := &some[n-1]
			both := segment{last.from, s.to, union(last.of, s.of)}
			cost := productCost(len(both.of), t.planes(both))
			if 4*len(both.of)*(both.to-both.from) <= mostProducts*(wanted+own) && cost <= productCost(len(last.of), t.planes(*last))+productCost(len(s.of), t.planes(s)) {
				*last, wanted = both, wanted+own
				continue
			}
		}
		some, wanted = append(some, s), own
	}
	return some
}

// mostProducts is how many products are made for four that are wanted, at most.
const mostProducts = 5

// productCost estimates the time of the product of panels with planes of rows, by what blocks read and
// multiply; see kernels.AddByteProducts.
func productCost(panels, planes int) float64 {
	const (
		eachPanel   = 16 // bytes for each of a row
		eachPanels  = 8  // of a block
		halfBlock   = 64 // rows
		perMultiply = 0.15
	)
	if planes == 0 {
		return 0
	}
	halves := (planes + halfBlock - 1) / halfBlock
	read := eachPanel*panels*((halves+1)/2) + (panels+eachPanels-1)/eachPanels*planes
	return float64(read) + perMultiply*float64(panels*halves*halfBlock)
}

// union returns the numbers of two increasing lists.
func union(x, y []uint64) []uint64 {
	all := make([]uint64, 0, len(x)+len(y))
	for len(x) > 0 && len(y) > 0 {
		switch {
		case x[0] < y[0]:
			all, x = append(all, x[0]), x[1:]
		case y[0] < x[0]:
			all, y = append(all, y[0]), y[1:]
		default:
			all, x, y = append(all, x[0]), x[1:], y[1:]
		}
	}
	return append(append(all, x...), y...)
}

// listRows appends those planes, as the results lie, and the rows' biases.
func (t *DotTable) listRows(rows []kernels.ByteRow, constants []uint32, s segment) {
	for h := t.long; h < t.long+t.some; h++ {
		some := t.At[h*t.n+s.from : h*t.n+s.to]
		for i := range some {
			rows = appendPlanes(rows, some[i:i+1], t.Pitch)
			for k := len(rows) - some[i].Width; k < len(rows); k++ {
				rows[k].Target = uint32(len(constants))
			}
			constants = append(constants, some[i].bias())
		}
	}
}

// joinedDots does joined rows, sorted by their places.
func (t *DotTable) joinedDots(all []joinedRow) {
	var joined []joinedRow
	var columns []int
	for i, j := range all {
		if t.has[j.row%t.n] {
			joined, columns = append(joined, j), append(columns, t.joined+i)
		}
	}
	if len(joined) == 0 {
		return
	}
	a := device.NewScope(t.a)
	defer a.Close()
	type place struct {
		from, to    int // joined rows
		first, last int // planes of the rows at this place
	}
	var places []place
	var rows []kernels.ByteRow
	var constants []uint32
	for i := 0; i < len(joined); {
		p := place{from: i, first: len(rows)}
		l := joined[i].row % t.n
		for i < len(joined) && joined[i].row%t.n == l {
			i++
		}
		var list []ByteRow
		for h := t.long; h < t.long+t.some; h++ {
			list = append(list, t.At[h*t.n+l])
		}
		rows, constants = appendPlanes(rows, list, t.Pitch), append(constants, biases(list)...)
		p.to, p.last = i, len(rows)
		places = append(places, p)
	}
	if len(rows) == 0 {
		return
	}
	size := kernels.PanelBytes(t.RowVars)
	atOnce := min(len(joined), max(1, panelBytes/size))
	panels, parts := device.NewArray[int8](a, atOnce*size), t.rowParts(a, t.q, joined)
	sums, planes, biases := device.NewWords(a, limbs*t.some*len(joined)), device.NewCopy(a, rows), device.NewCopy(a, constants)
	for from := 0; from < len(joined); from += atOnce {
		to := min(from+atOnce, len(joined))
		some := parts
		some.First = kernels.At[uint64](parts.First, from*kernels.PartLists(t.RowVars))
		device.Check(kernels.PackRows(a, panels, to-from, t.RowVars, some))
		var jobs []kernels.ByteProduct
		for _, p := range places {
			if first, last := max(from, p.from), min(to, p.to); first < last && p.first < p.last {
				jobs = append(jobs, kernels.ByteProduct{
					Weights: panels.Offset(first-from, size), Rows: kernels.At[kernels.ByteRow](planes, p.first), Sums: kernels.At[uint64](sums, limbs*t.some*first),
					Panels: uint32(last - first), Count: uint32(p.last - p.first), Targets: uint32(t.some), Pieces: kernels.Pieces(t.RowVars),
				})
			}
		}
		device.Check(kernels.AddByteProducts(a, jobs...))
	}
	done := make([]kernels.FinishDot, 0, len(joined))
	for k, p := range places {
		for i := p.from; i < p.to; i++ {
			f := kernels.FinishDot{
				Sums: kernels.At[uint64](sums, limbs*t.some*i), Biases: kernels.At[uint32](biases, t.some*k),
				Limb: uint32(t.some), Target: 1, Places: 1, Pitch: 1, Column: uint64(columns[i]),
			}
			for _, part := range joined[i].parts { // an eq table adds up to 1
				f.Coef = f.Coef.Add(t.q.Parts[part].RowWeights[0])
			}
			done = append(done, f)
		}
	}
	t.finish(a, done)
}

// segment are places from to to−1, which the same groups have, by their number in a
// list.
type segment struct {
	from, to int
	of       []uint64
}

// segments divides places so that every group, of which the runs are given, has all of a
// segment or none of it, and leaves out those that none has.
func segments(groups [][]placeRun) []segment {
	type edge struct {
		place, of int
		begins    bool
	}
	var edges []edge
	for i, runs := range groups {
		for _, r := range runs {
			edges = append(edges, edge{r.from, i, true}, edge{r.to, i, false})
		}
	}
	slices.SortFunc(edges, func(x, y edge) int { return cmp.Compare(x.place, y.place) })
	var all []segment
	in := map[int]bool{}
	for i, e := range edges {
		if e.begins {
			in[e.of] = true
		} else {
			delete(in, e.of)
		}
		if i+1 == len(edges) || edges[i+1].place == e.place || len(in) == 0 {
			continue
		}
		s := segment{from: e.place, to: edges[i+1].place}
		for k := range in {
			s.of = append(s.of, uint64(k))
		}
		slices.Sort(s.of)
		all = append(all, s)
	}
	return all
}

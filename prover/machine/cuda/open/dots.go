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

// DotTable is the table of the products of rows with parts' eq tables that rowSums needs, and
// with it that of the weights of rows. Column c of both is that of a pair of a group of parts
// and a place, or of a joined row.
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
	var light, heavy []int
	for i := range t.groups {
		switch {
		case !slices.ContainsFunc(t.runs(i), t.hasRows):
		case spanOf(t.part(i)).onTensorCores():
			heavy = append(heavy, i)
		default:
			light = append(light, i)
		}
	}
	t.lightDots(light)
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
					jobs = append(jobs, kernels.DotJob{Bytes: row.At.Offset(p.Column, 1), Part: uint64(weight), Stride: uint64(p.Stride), Width: uint64(row.Width), Pitch: uint64(t.Pitch)})
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

// heavyDots does groups on the tensor cores: for each class of them, those together that
// have the same places; all in one launch, as there are thousands of small ones.
func (t *DotTable) heavyDots(groups []int) {
	a := device.NewScope(t.a)
	defer a.Close()
	inClass := map[class][]int{}
	var classes []class
	for _, i := range groups {
		p := t.part(i)
		c := class{p.Column, len(p.Low)}
		if inClass[c] == nil {
			classes = append(classes, c)
		}
		inClass[c] = append(inClass[c], i)
	}
	type product struct {
		segment
		class
		of             []int // groups that segment.of counts
		targets        int   // from `biases` on
		panels         int   // bytes before those of the class
		numbers, words int   // before its own
		biases         int
		from, to       int // rows
	}
	// Classes of as many columns lie together: their panels are made in one launch.
	slices.SortStableFunc(classes, func(x, y class) int { return x.vars - y.vars })
	var products []product
	var members, numbers []uint64
	panels := 0
	for _, c := range classes {
		of := inClass[c]
		runs := make([][]placeRun, len(of))
		for k, i := range of {
			members, runs[k] = append(members, uint64(t.weight(i))), t.runs(i)
		}
		for _, s := range t.merged(segments(runs)) {
			if n := t.planes(s); n > 0 {
				products = append(products, product{segment: s, class: c, of: of, panels: panels, to: n})
			}
		}
		panels += len(of) * kernels.PanelBytes(c.vars)
	}
	if len(products) == 0 {
		return
	}
	planes, targets, words, count := 0, 0, 0, 0
	for i := range products {
		p := &products[i]
		p.numbers, p.words, p.biases, p.targets = len(numbers), words, targets, t.some*(p.segment.to-p.segment.from)
		p.from, p.to = planes, planes+p.to
		planes, targets = p.to, targets+p.targets
		numbers = append(numbers, p.segment.of...)
		words += limbs * len(p.segment.of) * p.targets
		count += len(p.segment.of)
	}
	rows, constants := make([]kernels.ByteRow, planes), make([]uint32, targets)
	parallel.For(len(products), 1, func(from, to int) {
		for i := from; i < to; i++ {
			p := &products[i]
			t.listRows(rows[p.from:p.from:p.to], constants[p.biases:p.biases:p.biases+p.targets], p.segment)
		}
	})
	w := t.weightsOf(t.q)
	weights, membersPtr, rowsPtr, constantsPtr := device.NewArray[int8](a, panels), device.NewCopy(a, append(members, numbers...)), device.NewCopy(a, rows), device.NewCopy(a, constants)
	numbersPtr := kernels.At[uint64](membersPtr, len(members))
	nextPanels, nextMembers := weights, membersPtr
	for i := 0; i < len(classes); {
		vars, count := classes[i].vars, 0
		for ; i < len(classes) && classes[i].vars == vars; i++ {
			count += len(inClass[classes[i]])
		}
		device.Check(kernels.PackParts(a, nextPanels, nextMembers, count, vars, w.parts, w.tables))
		nextPanels, nextMembers = nextPanels.Offset(count, kernels.PanelBytes(vars)), kernels.At[uint64](nextMembers, count)
	}
	sums := device.NewWords(a, words)
	jobs, done := make([]kernels.ByteProduct, len(products)), make([]kernels.FinishDot, 0, count)
	for i, p := range products {
		at := kernels.At[uint64](sums, p.words)
		jobs[i] = kernels.ByteProduct{
			Weights: weights.Offset(p.panels, 1), Numbers: kernels.At[uint64](numbersPtr, p.numbers),
			Rows: kernels.At[kernels.ByteRow](rowsPtr, p.from), Sums: at,
			Panels: uint32(len(p.segment.of)), Count: uint32(p.to - p.from), Targets: uint32(p.targets), Pieces: kernels.Pieces(p.vars), Column: uint32(p.column),
		}
		for k, number := range p.segment.of {
			g := p.of[number]
			for _, x := range t.runs(g) { // what is wanted of the product
				from, to := max(x.from, p.segment.from), min(x.to, p.segment.to)
				if from >= to {
					continue
				}
				own := from - p.segment.from
				done = append(done, kernels.FinishDot{
					Sums: kernels.At[uint64](at, limbs*k*p.targets+own), Biases: kernels.At[uint32](constantsPtr, p.biases+own),
					Limb: uint32(p.targets), Target: 1, Places: uint32(to - from), Pitch: uint32(p.segment.to - p.segment.from),
					Column: uint64(t.first[g] + x.column + from - x.from), Coef: field.One, // an eq table adds up to 1
				})
			}
		}
	}
	device.Check(kernels.AddByteProducts(a, jobs...))
	t.finish(a, done)
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
		some.First = kernels.At[uint64](parts.First, from)
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

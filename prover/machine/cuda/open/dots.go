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

// DotTable makes the two tables over K for the first rounds (rowsums.go): the products ("dots") of
// committed rows with the eq tables of parts, and the weights of these rows. The table of rows is
// viewed as Longs long rows of n rows each; place l of a long row is its l-th row. Both tables have
// Longs rows, and a column for each pair of a group of parts and one of the group's places.
type DotTable struct {
	*Rows
	a          *device.Scope // owns the tables
	Longs, n   int           // number of long rows, and of rows in each
	groups     []partGroup
	from, to   int         // the rows at places from … to−1 are on the device
	long, some int         // these are in long rows long … long+some−1
	before     []int       // by place: how many planes the rows on the device have at smaller places
	Columns    int         // of each table, padded to a multiple of 4
	Products   kernels.Ptr // Longs × Columns elements
}

// Products computes the dots of the rows on this device with the weights of the claims c, for 2^vars long rows. Dots of rows elsewhere
// are zero in its table, so that the tables of several devices add up.
func (r *Rows) Products(a *device.Scope, q *whir.Functional, c *Claims, vars int) *DotTable {
	r.setFunctional(q)
	t := &DotTable{Rows: r, a: a, Longs: 1 << vars, n: len(r.At) >> vars}
	t.groups = r.partGroups(c.each, t.n)
	for _, parts := range c.joined {
		t.groups = append(t.groups, partGroup{parts, placeRuns(q, parts, t.n), true})
	}
	columns := 0
	for _, g := range t.groups {
		own := g.columns()
		for k := range g.runs {
			g.runs[k].column += columns
		}
		columns += own
	}
	t.Columns = max(4, (columns+3)&^3)
	t.Products = device.NewArray[field.QM31](a, t.Longs*t.Columns)
	device.Check(a.Clear(t.Products, device.ElementBytes*t.Longs*t.Columns))
	if len(q.Parts) > 0 {
		r.groupAhead(t.n)
	}
	r.each(t.n, UpTo(t.n), func(from, to int, _ bool) { t.dots(from, to) })
	return t
}

// listWeights lists the entries of the table of weights that are not zero. If several parts of a group
// have the same row, their weights are added up.
func (t *DotTable) listWeights() []kernels.PlacedElement {
	type entry struct{ group, at int } // of a row: the last group that has it, from 1 on, and where its weight is in the list
	seen := make([]entry, t.Longs*t.n)
	var list []kernels.PlacedElement
	for i := range t.groups {
		g := &t.groups[i]
		for _, part := range g.parts {
			p := &t.q.Parts[part]
			for b, w := range p.RowWeights {
				row := p.FirstRow + b
				if e := seen[row]; e.group != i+1 {
					seen[row] = entry{i + 1, len(list)}
					list = append(list, kernels.PlacedElement{At: uint64(row/t.n*t.Columns + g.column(row%t.n)), Value: w})
				} else {
					v := &list[e.at].Value
					*v = v.Add(w)
				}
			}
		}
		if g.joined { // the weights of its parts are factors of the product already
			list[len(list)-1].Value = field.One
		}
	}
	return list
}

// Pair returns the rounds over the two tables: in the host's memory if they are small (Context.HostPair), else on the device.
func (t *DotTable) Pair() Rounds {
	weights, n := t.listWeights(), t.Longs*t.Columns
	if n <= t.Stream.Context.HostPair {
		p := &whir.Pair{F: device.Fetch[field.QM31](t.a, t.Products, n), Q: make([]field.QM31, n)}
		for _, w := range weights {
			p.Q[w.At] = w.Value
		}
		return p
	}
	q := device.NewArray[field.QM31](t.a, n)
	device.Check(t.a.Clear(q, device.ElementBytes*n))
	if len(weights) > 0 {
		list := device.NewCopy(t.a, weights)
		device.Check(kernels.PutElements(t.a, q, list, len(weights)))
		t.a.Free(list)
	}
	return &Tables{Stream: t.Stream, Mem: t.a, F: t.Products, Q: q, N: n}
}

// part returns the first part of a group. Unless the group is joined, all its parts give the same products.
func (t *DotTable) part(group int) *whir.Part { return &t.q.Parts[t.groups[group].parts[0]] }

// weight returns the number of a group's eq table.
func (t *DotTable) weight(w *weights, group int) uint64 {
	return uint64(w.of[t.groups[group].parts[0]])
}

// runs returns the runs of a group, limited to the places whose rows are on the device.
func (t *DotTable) runs(group int) []placeRun {
	var some []placeRun
	for _, r := range t.groups[group].runs {
		if from, to := max(r.from, t.from), min(r.to, t.to); from < to {
			some = append(some, placeRun{from, to, r.column + from - r.from})
		}
	}
	return some
}

// The ways to multiply rows with the weights of a group. All but the first use the tensor cores, with weights in panels of bytes.
const (
	byMultiplyAdds = iota
	bySegments     // the panel has the lower factor of a long eq table
	byPanels       // the panel has the whole eq table
	byJoinedPanels // the panel has the sum of the weights of a joined row's parts
	ways           // how many there are
)

// class says how products of a group are made: in which way, from which column of the rows on, and with a panel over 2^vars columns,
// which serves for 2^segments segments of the row, one behind the other.
type class struct{ way, column, vars, segments int }

// classOf returns the class of a group.
func (t *DotTable) classOf(group int) class {
	p := t.part(group)
	s, low := spanOf(p), t.Stream.Context.LowVars
	switch {
	case t.groups[group].joined:
		return class{byJoinedPanels, 0, t.RowVars, 0}
	case !s.onTensorCores():
		return class{byMultiplyAdds, p.Column, s.vars, 0}
	case s.vars > low:
		return class{bySegments, p.Column, low, s.vars - low}
	}
	return class{byPanels, p.Column, s.vars, 0}
}

// dots computes the products of all groups with the rows at places from … to−1 that this device has. They are on it now.
func (t *DotTable) dots(from, to int) {
	t.on(from, to)
	var groups [ways][]int
	for i := range t.groups {
		if slices.ContainsFunc(t.runs(i), func(r placeRun) bool { return t.before[r.from] < t.before[r.to] }) {
			way := t.classOf(i).way
			groups[way] = append(groups[way], i)
		}
	}
	t.lightDots(groups[byMultiplyAdds])
	for _, own := range groups[bySegments:] {
		// Sort groups by place: groups that have a place in common are multiplied together, and read its rows once.
		slices.SortStableFunc(own, func(x, y int) int { return t.groups[x].runs[0].from - t.groups[y].runs[0].from })
		for len(own) > 0 {
			n, bytes := 0, 0
			for ; n < len(own); n++ {
				if bytes += kernels.PanelBytes(t.classOf(own[n]).vars); n > 0 && bytes > panelBytes {
					break
				}
			}
			t.panelDots(own[:n])
			own = own[n:]
		}
	}
}

// on notes that the rows at places from … to−1 are on the device.
func (t *DotTable) on(from, to int) {
	t.from, t.to, t.before = from, to, make([]int, t.n+1)
	t.long, t.some = t.Longs, 0
	for i, row := range t.At {
		if l := i % t.n; row.Width > 0 && l >= from && l < to {
			t.before[l+1] += row.Width
			t.long = min(t.long, i/t.n)
			t.some = i/t.n + 1 - t.long
		}
	}
	for l := range t.n {
		t.before[l+1] += t.before[l]
	}
}

// finish adds the finished products of the long rows that have rows on the device to the table.
func (t *DotTable) finish(a *device.Scope, done []kernels.FinishDot) {
	device.Check(kernels.FinishDots(a, kernels.At[field.QM31](t.Products, t.long*t.Columns), t.some, t.Columns, done))
}

// lightDots makes the products of groups by multiply-adds, all in one launch.
func (t *DotTable) lightDots(groups []int) {
	if len(groups) == 0 {
		return
	}
	a := device.NewScope(t.a)
	defer a.Close()
	w := t.weights
	var jobs []kernels.DotJob
	var vars []int
	var done []kernels.FinishDot
	for _, i := range groups {
		p, weight := t.part(i), t.weight(w, i)
		for _, x := range t.runs(i) {
			for l := x.from; l < x.to; l++ {
				column := uint64(x.column + l - x.from)
				done = append(done, kernels.FinishDot{Limb: 1, Target: kernels.SumWords, Places: 1, Pitch: 1, Column: column})
				for h := range t.some {
					row := t.At[(t.long+h)*t.n+l]
					jobs = append(jobs, kernels.DotJob{
						Bytes: row.At.Offset(p.Column, 1), Part: weight, Stride: uint64(p.Stride),
						Width: uint64(row.Width), Pitch: uint64(t.Pitch), Bias: uint64(row.bias()),
					})
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

// panelClass is the groups of a class, whose panels lie one behind the other in memory.
type panelClass struct {
	class
	groups []int
	panels kernels.Ptr
}

// product is the matrix product of panels with rows: of the groups segment.of, which are indexes of class.groups, with the rows at the
// places of the segment.
type product struct {
	segment
	class     *panelClass
	in        kernels.SegmentProduct
	row, bias int         // where its part begins in the lists of all planes, and of all biases
	biases    kernels.Ptr // its biases on the device
}

// panelDots makes the products of groups on the tensor cores, all in one way and one launch, as there are thousands of small groups.
// Groups of a class that have the same places share one matrix product.
func (t *DotTable) panelDots(groups []int) {
	a := device.NewScope(t.a)
	defer a.Close()
	classes := t.classesOf(groups)
	all := t.productsOf(a, classes)
	if len(all) == 0 {
		return
	}
	t.multiply(a, len(groups), classes, all)
	var done []kernels.FinishDot
	for i := range all {
		p := &all[i]
		for k, number := range p.of {
			g := &t.groups[p.class.groups[number]]
			for _, x := range g.runs {
				from, to := max(x.from, p.from), min(x.to, p.to)
				if from >= to {
					continue
				}
				own := from - p.from
				done = append(done, kernels.FinishDot{
					Sums: kernels.At[uint64](p.in.Sums, limbs*k*int(p.in.Targets)+own), Biases: kernels.At[uint32](p.biases, own),
					Limb: p.in.Targets, Target: 1, Places: uint32(to - from), Pitch: uint32(p.to - p.from),
					Column: uint64(x.column + from - x.from), Coef: t.sumOfWeights(g),
				})
			}
		}
	}
	t.finish(a, done)
}

// sumOfWeights returns the sum of the weights in a group's panel, which the bias of a row is multiplied with. For an eq table it is 1.
func (t *DotTable) sumOfWeights(g *partGroup) field.QM31 {
	if !g.joined {
		return field.One
	}
	var sum field.QM31
	for _, part := range g.parts {
		sum = sum.Add(t.q.Parts[part].RowWeights[0])
	}
	return sum
}

// classesOf divides groups into classes, sorted by vars: panels over the same number of columns are made in one launch.
func (t *DotTable) classesOf(groups []int) []*panelClass {
	var all []*panelClass
	by := map[class]*panelClass{}
	for _, i := range groups {
		c := t.classOf(i)
		if by[c] == nil {
			by[c] = &panelClass{class: c}
			all = append(all, by[c])
		}
		by[c].groups = append(by[c].groups, i)
	}
	slices.SortStableFunc(all, func(x, y *panelClass) int { return x.vars - y.vars })
	return all
}

// productsOf lists the matrix products of classes, and uploads their rows, biases and numbers of panels, with memory for their sums. The
// panels themselves are left to multiply.
func (t *DotTable) productsOf(a *device.Scope, classes []*panelClass) []product {
	var all []product
	var numbers []uint64 // of the panels of each product, as indexes of its class's panels
	planes, targets, words := 0, 0, 0
	for _, c := range classes {
		runs := make([][]placeRun, len(c.groups))
		for k, i := range c.groups {
			runs[k] = t.runs(i)
		}
		some := segments(runs)
		if c.way != bySegments {
			some = t.merged(some)
		}
		for _, s := range some {
			n, own := t.planes(s), t.some*(s.to-s.from)
			if n == 0 {
				continue
			}
			p := product{segment: s, class: c, row: planes, bias: targets}
			p.in.ByteProduct = kernels.ByteProduct{
				Panels: uint32(len(s.of)), Count: uint32(n), Targets: uint32(own), Pieces: kernels.Pieces(c.vars), Column: uint32(c.column),
			}
			p.in.Segments = c.segments
			all, numbers = append(all, p), append(numbers, s.of...)
			planes, targets, words = planes+n, targets+own, words+limbs*len(s.of)*own
		}
	}
	if len(all) == 0 {
		return nil
	}
	rows, biases := make([]kernels.ByteRow, planes), make([]uint32, targets)
	parallel.For(len(all), 1, func(from, to int) {
		for i := from; i < to; i++ {
			t.listRows(rows[all[i].row:all[i].row], biases[all[i].bias:all[i].bias], all[i].segment)
		}
	})
	number, row := device.NewCopy(a, numbers), device.NewCopy(a, rows)
	bias, sum := device.NewCopy(a, biases), device.NewWords(a, words)
	for i := range all {
		p := &all[i]
		p.in.Numbers, p.in.Sums = number, sum
		p.in.Rows, p.biases = kernels.At[kernels.ByteRow](row, p.row), kernels.At[uint32](bias, p.bias)
		number, sum = kernels.At[uint64](number, len(p.of)), kernels.At[uint64](sum, limbs*len(p.of)*int(p.in.Targets))
	}
	return all
}

// listRows appends the planes of the rows of a segment, and the rows' biases. The number of a row's bias is the target of its planes:
// where their results are added up.
func (t *DotTable) listRows(planes []kernels.ByteRow, biases []uint32, s segment) {
	for h := t.long; h < t.long+t.some; h++ {
		for _, row := range t.At[h*t.n+s.from : h*t.n+s.to] {
			planes, biases = row.appendPlanes(planes, len(biases), t.Pitch), append(biases, row.bias())
		}
	}
}

// multiply makes the panels of the classes, which have so many groups in all, and adds all products to their sums.
func (t *DotTable) multiply(a *device.Scope, groups int, classes []*panelClass, all []product) {
	way, w := classes[0].way, t.weights
	if way == bySegments {
		w = t.factoredOf()
	}
	size := 0
	numbers := make([]uint64, 0, groups)
	for _, c := range classes {
		size += len(c.groups) * kernels.PanelBytes(c.vars)
		for _, i := range c.groups {
			numbers = append(numbers, t.weight(w, i))
		}
	}
	next := device.NewArray[int8](a, size)
	if way == byJoinedPanels { // all are of one class: classOf depends on nothing else for them
		classes[0].panels = next
		device.Check(kernels.PackRows(a, next, groups, t.RowVars, t.rowParts(a, classes[0].groups)))
	} else {
		list := device.NewCopy(a, numbers)
		for i := 0; i < len(classes); {
			vars, first, count := classes[i].vars, next, 0
			for ; i < len(classes) && classes[i].vars == vars; i++ {
				own := len(classes[i].groups)
				classes[i].panels = next
				count, next = count+own, next.Offset(own, kernels.PanelBytes(vars))
			}
			device.Check(kernels.PackParts(a, first, list, count, vars, w.parts, w.tables))
			list = kernels.At[uint64](list, count)
		}
	}
	if way == bySegments {
		t.multiplySegments(a, w, all)
		return
	}
	jobs := make([]kernels.ByteProduct, len(all))
	for i, p := range all {
		jobs[i] = p.in.ByteProduct
		jobs[i].Weights = p.class.panels
	}
	device.Check(kernels.AddByteProducts(a, jobs...))
}

// multiplySegments adds the products with long eq tables. Each such table is the product of two: one over the lowest index bits, in a
// panel, and one over the other bits (kernels.SegmentProduct).
func (t *DotTable) multiplySegments(a *device.Scope, w *weights, all []product) {
	var highs []uint64
	most, least := 0, 0 // bytes of scratch memory: for all rows at once, and for one row of the product that takes most
	for _, p := range all {
		for _, number := range p.of {
			highs = append(highs, t.weight(w, p.class.groups[number])+1)
		}
		row := kernels.SegmentBytes(len(p.of), p.in.Segments)
		most, least = most+row*int(p.in.Count), max(least, row)
	}
	high, room := device.NewCopy(a, highs), max(least, min(most, panelBytes))
	jobs := make([]kernels.SegmentProduct, len(all))
	for i, p := range all {
		jobs[i] = p.in
		jobs[i].Weights, jobs[i].High = p.class.panels, high
		high = kernels.At[uint64](high, len(p.of))
	}
	device.Check(kernels.AddSegmentProducts(a, device.NewArray[uint8](a, room), room, w.parts, w.tables, jobs...))
}

// rowParts uploads the list of the parts of joined groups, each with the weight of its row.
func (t *DotTable) rowParts(a *device.Scope, groups []int) kernels.RowParts {
	w := t.weights
	return w.rowParts(a, kernels.ListParts(len(groups), t.RowVars, w.vars, func(yield func(int, kernels.RowPart) bool) {
		for k, g := range groups {
			for _, i := range t.groups[g].parts {
				if !yield(k, w.rowPart(t.q, i, t.q.Parts[i].RowWeights[0])) {
					return
				}
			}
		}
	}))
}

// planes returns how many planes the rows at the places of a segment have together.
func (t *DotTable) planes(s segment) int { return t.before[s.to] - t.before[s.from] }

// merged joins neighbouring segments into one with the groups of both, as long as that costs less. It
// makes some products that are not wanted, but a product of few rows would have to read all panels for them.
func (t *DotTable) merged(all []segment) []segment {
	var some []segment
	wanted := 0 // products that are wanted of the last segment, counted by group and place
	for _, s := range all {
		own := len(s.of) * (s.to - s.from)
		if n := len(some); n > 0 && some[n-1].to == s.from {
			last := &some[n-1]
			both := segment{last.from, s.to, union(last.of, s.of)}
			cost := func(s segment) float64 { return productCost(len(s.of), t.planes(s)) }
			if 4*len(both.of)*(both.to-both.from) <= mostProducts*(wanted+own) && cost(both) <= cost(*last)+cost(s) {
				*last, wanted = both, wanted+own
				continue
			}
		}
		some, wanted = append(some, s), own
	}
	return some
}

// mostProducts bounds the unwanted products: for every four that are wanted, at most five are made.
const mostProducts = 5

// productCost estimates the time of the product of panels with planes of rows, by what blocks read and
// multiply (kernels.AddByteProducts). Its unit is arbitrary.
func productCost(panels, planes int) float64 {
	const (
		eachPanel   = 16 // bytes of a panel for each byte of a row
		eachPanels  = 8  // panels of a block
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

// union merges two increasing lists, without duplicates.
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

// segment is a range of places, from … to−1, that the same groups have. The groups are given by
// their indexes in a list, increasing.
type segment struct {
	from, to int
	of       []uint64
}

// segments divides places into segments such that every group, given by its runs, has all places of
// a segment or none. Places that no group has are left out.
func segments(groups [][]placeRun) []segment {
	type edge struct {
		place  int
		of     uint64
		begins bool
	}
	var edges []edge
	for i, runs := range groups {
		for _, r := range runs {
			edges = append(edges, edge{r.from, uint64(i), true}, edge{r.to, uint64(i), false})
		}
	}
	slices.SortFunc(edges, func(x, y edge) int { return cmp.Compare(x.place, y.place) })
	var all []segment
	var in []uint64
	for i, e := range edges {
		k, _ := slices.BinarySearch(in, e.of)
		if e.begins {
			in = slices.Insert(in, k, e.of)
		} else {
			in = slices.Delete(in, k, k+1)
		}
		if i+1 < len(edges) && edges[i+1].place > e.place && len(in) > 0 {
			all = append(all, segment{e.place, edges[i+1].place, slices.Clone(in)})
		}
	}
	return all
}

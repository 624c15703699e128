// Package open has what one device does for commitments and openings. For a commitment it packs, encodes and hashes rows of stacks. For
// an opening it makes the passes over rows, and then over the tables to which the rows are folded.
//
// The words of this package: the table of an opening has a row for each committed row; where a tree's rows are shorter than the table's,
// several of them make one. A row on the device is one to four planes of bytes (ByteRow). The table is viewed as 2^v long rows of n rows
// each, and place l is the l-th row of each long row; v rounds bind the variables that number the long rows (rowsums.go).
package open

import (
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
	"github.com/prove-model/prove-model/prover/math/code"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// Rows are the rows of an opening's table that are on this device. Other devices of a team may have the others.
type Rows struct {
	Stream  *run.Stream
	Mem     *device.Scope // owns all memory of the opening on this device
	Packed  *device.Scope // within Mem: rows that had to be packed
	RowVars int           // log2 of the length of the table's rows
	Pitch   int           // bytes of a plane of such a row
	Cut     int           // log2 of the number of parts into which rows were cut (Shorten)
	Trees   []placed
	At      []ByteRow   // the table: a row of zeros where another device has the row; pending until it is packed
	own     []ByteRow   // as At when it was loaded: rows that have moved to another device since (exchange) are still here
	how     device.Mode // its Stay shrinks by what has been kept (keep)

	q                 *whir.Functional
	weights, factored *weights           // eq tables of the functional's parts (setFunctional, factoredOf)
	groups            func() []partGroup // returns the groups of all parts, for long rows of groupsFor rows (groupAhead)
	groupsFor         int

	auxiliary *auxiliary // of a hiding opening, on the leader; nil elsewhere
}

// placed is a tree's place in the table, with the rows of the tree that this device has.
type placed struct {
	*packer           // of the groups whose values are kept
	sources  []source // in the order of their rows. No table row has rows of two: the stack of a chunk begins with a table row.
	shift    int      // 2^shift rows of the tree make one table row (whir.Layout)
	firstRow uint64   // the tree's first row of the table
	numbers  []uint64 // the tree's table rows on this device, numbered within the tree
	rows     []int    // the tree's own rows on this device
	aside    bool     // these rows are in no table row, as the auxiliary row's
}

// source is groups whose values are on the device at one time, with the numbers of their table rows and slots on this device.
type source struct {
	run.Groups
	numbers, slots []uint64
}

// NewRows returns the Rows of an opening on a device, with no rows loaded. All memory is taken from a.
func NewRows(b *run.Stream, a *device.Scope, o *backend.Opening) *Rows {
	first := o.Params.Levels[0]
	return &Rows{
		Stream: b, Mem: a, Packed: device.NewScope(a),
		RowVars: first.RowVars, Pitch: kernels.RowPitch(1 << first.RowVars), At: make([]ByteRow, 1<<first.FoldVars),
	}
}

// Load loads the rows of this device: those that lie in a tensor as they are stay there, the others are packed, or left pending if
// Mode.Rows is set. owners[i][k] is the device that has group k of tree i. A table row with rows of several groups belongs to the owner of
// the first of them. If owners is nil, this device has all rows.
func (r *Rows) Load(o *backend.Opening, owners [][]*device.Context) {
	r.how = r.Stream.Context.Mode()
	for i := range o.Commitments {
		c := tableOf(&o.Commitments[i])
		t := placed{shift: r.RowVars - c.RowVars, firstRow: o.RowOffsets[i]}
		all, done := c.TableRows(t.shift), 0
		for k, g := range c.Groups {
			_, to := within(g, all, t.shift)
			if owners == nil || owners[i][k] == r.Stream.Context {
				t.numbers = append(t.numbers, all[done:to]...)
			}
			done = to
		}
		var slots []uint64
		for k, slot := range c.TableRows(0) {
			if _, own := slices.BinarySearch(t.numbers, slot>>t.shift); own {
				slots, t.rows = append(slots, slot), append(t.rows, k)
			}
		}
		r.pack(&t, c, slots)
		r.Trees = append(r.Trees, t)
	}
	r.own = slices.Clone(r.At)
	r.Stream.DropSegments()
}

// pack loads the rows of a tree on this device, which are in these slots, and sets t's packer and sources.
func (r *Rows) pack(t *placed, c backend.Commitment, slots []uint64) {
	groups := groupsWith(&c, t.numbers, t.shift)
	var kept []int
	var own []uint64 // table rows of the groups in kept
	for _, s := range segmentsOf(r.Stream, &c, groups) {
		x := source{Groups: s}
		for _, i := range s.Of {
			from, to := within(c.Groups[i], t.numbers, t.shift)
			x.numbers = append(x.numbers, t.numbers[from:to]...)
			from, to = within(c.Groups[i], slots, 0)
			x.slots = append(x.slots, slots[from:to]...)
		}
		x.numbers = slices.Compact(x.numbers) // a table row with rows of two groups is listed twice
		if t.sources = append(t.sources, x); !s.Again {
			kept, own = append(kept, s.Of...), append(own, x.numbers...)
		}
	}
	t.packer = newPacker(r.Stream, r.Packed, c, kept, r.Stream.Find)
	if len(kept) < len(groups) {
		t.put(r.At, t.numbers, expectedPacker(r.Stream.Graph, &c, groups).findRows(t.numbers, t.shift))
	}
	if r.how.Rows {
		t.put(r.At, own, t.findRows(own, t.shift))
		r.keep(t, own)
	} else {
		t.put(r.At, own, t.tableRows(r.Packed, own, t.shift))
	}
	for _, s := range t.sources {
		if s.Again && r.how.Packed {
			r.withSegment(c, s.Of, func(p *packer) {
				p.leaving = true
				t.put(r.At, s.numbers, p.tableRows(r.Packed, s.numbers, t.shift))
			})
		}
	}
}

// put enters rows of a tree, with these numbers, in the table.
func (t *placed) put(table []ByteRow, numbers []uint64, rows []ByteRow) {
	for k, row := range rows {
		table[t.firstRow+numbers[k]] = row
	}
}

// segmentsOf divides groups of a commitment by the segments that recompute their values (run.Stream.SegmentsOf). If no values are
// recomputed, all groups stay together.
func segmentsOf(s *run.Stream, c *backend.Commitment, groups []int) []run.Groups {
	if all := s.SegmentsOf(c, groups); all != nil {
		return all
	}
	return []run.Groups{{Of: groups}}
}

// within returns the range from … to−1 of the list numbers, of table rows, that have rows of a group.
func within(g whir.Group, numbers []uint64, shift int) (from, to int) {
	from, _ = slices.BinarySearch(numbers, g.First>>shift)
	to, _ = slices.BinarySearch(numbers, (g.First+uint64(g.Rows)-1)>>shift+1)
	return from, to
}

// groupsWith lists the groups of c that have rows in the table rows with the given numbers.
func groupsWith(c *backend.Commitment, numbers []uint64, shift int) []int {
	var groups []int
	for i, g := range c.Groups {
		if from, to := within(g, numbers, shift); from < to {
			groups = append(groups, i)
		}
	}
	return groups
}

// Places lists the places, of n in a long row, at which this device has rows.
func (r *Rows) Places(n int) []int {
	has := make([]bool, n)
	for i, row := range r.At {
		has[i%n] = has[i%n] || row.Width > 0
	}
	var list []int
	for l := range n {
		if has[l] {
			list = append(list, l)
		}
	}
	return list
}

// FoldRows sets f to what the long rows, weighted with coefs, add up to at some places, which are increasing: 2^RowVars elements for each
// place. Rows of other devices count as zeros.
func (r *Rows) FoldRows(f kernels.Ptr, coefs []field.QM31, places []int) {
	n := len(r.At) / len(coefs)
	r.each(n, places, func(from, to int, more bool) {
		here := places
		if more { // only places at which this segment has rows are added to
			here = r.Places(n)
		}
		in := func(l int) bool { _, has := slices.BinarySearch(here, l); return has && l >= from && l < to }
		for k := 0; k < len(places); k++ {
			first := k
			for k < len(places) && in(places[k]) {
				k++
			}
			if first < k {
				r.foldPlaces(f.Offset(first<<r.RowVars, device.ElementBytes), coefs, places[first:k], more)
			}
		}
	})
}

// foldPlaces is FoldRows for some places, at least one, whose rows are on the device. If add is set, it adds to f, which then has what
// other rows fold to. Each plane of a row is treated as a row of bytes with a weight of its own.
func (r *Rows) foldPlaces(f kernels.Ptr, coefs []field.QM31, places []int, add bool) {
	a := device.NewScope(r.Mem)
	defer a.Close()
	n := len(r.At) / len(coefs)
	lists := newFoldLists(len(places), len(coefs))
	for k, l := range places {
		for h, w := range coefs {
			row := r.At[h*n+l]
			if bias := row.bias(); bias != 0 {
				lists.constants[k] = lists.constants[k].Add(w.MulM31(field.M31(bias)))
			}
			lists.add(k, row, r.Pitch, w)
		}
	}
	lists.fold(a, f, r.RowVars, add)
}

// foldLists is several lists of planes of rows. Each list stands for a folded row: the sum of its planes times their weights, plus a
// constant at every entry, which comes from biases.
type foldLists struct {
	rows      [][]kernels.Ptr
	weights   [][]field.QM31
	constants []field.QM31
}

// newFoldLists returns n empty lists, with capacity for so many planes each.
func newFoldLists(n, planes int) *foldLists {
	f := &foldLists{make([][]kernels.Ptr, n), make([][]field.QM31, n), make([]field.QM31, n)}
	for k := range n {
		f.rows[k], f.weights[k] = make([]kernels.Ptr, 0, planes), make([]field.QM31, 0, planes)
	}
	return f
}

// add adds the planes of a row to list k, plane j with 256^j times the weight.
func (f *foldLists) add(k int, row ByteRow, pitch int, weight field.QM31) {
	for j := range row.Width {
		if j > 0 {
			weight = weight.MulM31(1 << 8)
		}
		f.rows[k], f.weights[k] = append(f.rows[k], row.At.Offset(j, pitch)), append(f.weights[k], weight)
	}
}

// fold sets out to the sums of the lists, or with add adds them to out. A plane has 2^vars bytes. Lists are padded to the length of the
// longest with planes at address 0.
func (f *foldLists) fold(a *device.Scope, out kernels.Ptr, vars int, add bool) {
	const multiple = 64 // kernels.FoldedRows
	n := multiple       // length of the longest list, rounded up
	for _, list := range f.rows {
		n = max(n, (len(list)+multiple-1)/multiple*multiple)
	}
	rows, weights := make([]kernels.Ptr, len(f.rows)*n), make([]field.QM31, len(f.rows)*n)
	for k := range f.rows {
		copy(rows[k*n:], f.rows[k])
		copy(weights[k*n:], f.weights[k])
	}
	device.Check(kernels.FoldBytes(a, out, kernels.FoldedRows{
		Rows: device.NewCopy(a, rows), Weights: device.NewCopy(a, weights), Constants: device.NewCopy(a, f.constants),
		Lists: len(f.rows), N: n, RowVars: vars, Add: add,
	}))
}

// panelBytes is the most memory that panels of weights take at once.
const panelBytes = 1 << 30

// inPanel is the number of points whose weights are in one panel.
const inPanel = 4

// pointPanels is n panels with the weights that evaluate rows of 2^vars values at some points.
type pointPanels struct {
	at      kernels.Ptr
	n, vars int
}

// newPointPanels makes the panels of points, each of which has a coefficient.
func newPointPanels(a *device.Scope, points []kernels.PointWeight, vars int) pointPanels {
	p := pointPanels{n: (len(points) + inPanel - 1) / inPanel, vars: vars}
	p.at = device.NewArray[int8](a, p.n*kernels.PanelBytes(vars))
	scratch := device.NewArray[uint8](a, kernels.PointScratch(vars, len(points)))
	device.Check(kernels.PackPoints(a, p.at, vars, device.NewCopy(a, points), len(points), scratch))
	return p
}

// add adds the products of the panels with planes of rows to sums, which have so many targets.
func (p pointPanels) add(a *device.Scope, sums kernels.Ptr, planes []kernels.ByteRow, targets int) {
	if len(planes) == 0 {
		return
	}
	rows := device.NewCopy(a, planes)
	device.Check(kernels.AddByteProducts(a, kernels.ByteProduct{
		Weights: p.at, Rows: rows, Sums: sums,
		Panels: uint32(p.n), Count: uint32(len(planes)), Targets: uint32(targets), Pieces: kernels.Pieces(p.vars),
	}))
	a.Free(rows)
}

// segmentVars returns log2 of the length of the segments into which rows of 2^vars values are cut when they are
// multiplied with the weights of so many points. Panels cover one segment. Segments are so short that all panels
// together take at most panelBytes, and at most four pieces, but not shorter than 2^6.
func segmentVars(vars, points, piece int) int {
	const least = 6
	most := min(panelBytes, 4*piece)
	for vars > least && (points+inPanel-1)/inPanel*kernels.PanelBytes(vars) > most {
		vars--
	}
	return vars
}

// parts returns the rows of a tree on this device: those in the table, and the auxiliary row if it is the tree's.
func (r *Rows) parts(tree int) []*placed {
	if x := r.auxiliary; x != nil && x.tree == tree {
		return []*placed{&r.Trees[tree], &x.placed}
	}
	return []*placed{&r.Trees[tree]}
}

// Columns is described at whir.Passes. It returns the values of the rows on this device alone, in the order of RowsOf.
func (r *Rows) Columns(tree int, positions []uint64) [][]field.M31 {
	parts := r.parts(tree)
	all := r.columns(parts[0], positions)
	for _, t := range parts[1:] {
		for k, own := range r.columns(t, positions) {
			all[k] = append(all[k], own...)
		}
	}
	return all
}

// RowsOf returns the numbers of the rows of a tree on this device.
func (r *Rows) RowsOf(tree int) (rows []int) {
	for _, t := range r.parts(tree) {
		rows = append(rows, t.rows...)
	}
	return rows
}

// columns is Columns for the rows in the table, or for the auxiliary row. A value of a codeword is a sum over the
// values of a row, with weights that depend on the position alone. Each weight is the product of one that depends on
// the index within a segment and one of the segment. So rows are multiplied with short panels, in one pass for all
// positions, and the products of segments are added up with the segments' weights. The 2^Cut parts of a row that was
// cut are added up in the same way.
func (r *Rows) columns(t *placed, positions []uint64) [][]field.M31 {
	a := device.NewScope(r.Mem)
	defer a.Close()
	total := len(t.rows)
	if total == 0 {
		return make([][]field.M31, len(positions))
	}
	vars := segmentVars(t.C.RowVars, len(positions), r.Stream.Context.Piece)
	segments := 1 << (t.C.RowVars - vars)
	ones, upper := make([]uint32, len(positions)), make([]field.M31, 0, len(positions)*segments<<r.Cut)
	points := make([]kernels.PointWeight, len(positions))
	domain := code.NewDomain(t.C.LogDomain())
	for k, p := range positions {
		points[k] = kernels.PointWeight{Coef: field.One, Z: domain.Point(p)}
		ones[k] = uint32(sumOfWeights(points[k].Z, vars))
		upper = appendSegmentWeights(upper, points[k].Z, vars, t.C.RowVars+r.Cut)
	}
	panels := newPointPanels(a, points, vars)
	sums := device.NewWords(a, inPanel*panels.n*total*segments)
	var constants []uint32
	t.eachRows(r, func(rows []ByteRow, pitch int) {
		var list []kernels.ByteRow
		for _, row := range rows {
			for h := range segments {
				own := row
				own.At = row.At.Offset(h, 1<<vars)
				list, constants = own.appendPlanes(list, len(constants), pitch), append(constants, row.bias())
			}
		}
		panels.add(a, sums, list, total*segments)
	})
	if t.C.Salted() {
		t.addTailProducts(a, sums, positions, segments, r.Stream.Context.Piece)
	}
	all := len(positions) * total * segments
	out := device.NewArray[field.M31](a, all)
	one, lacking := device.NewCopy(a, ones), device.NewCopy(a, constants)
	device.Check(kernels.FinishProducts(a, out, sums, len(positions), total*segments, one, lacking))
	if together := segments << r.Cut; together > 1 {
		parts := out
		total >>= r.Cut
		all /= together
		out = device.NewArray[field.M31](a, all)
		device.Check(kernels.JoinSegments(a, out, parts, device.NewCopy(a, upper), len(positions), total, together))
	}
	return slices.Collect(slices.Chunk(device.Fetch[field.M31](a, out, all), total))
}

// appendSegmentWeights appends the weights of the segments of 2^low values of a row of 2^vars values, for evaluation
// at z. The weight of index x is Π z_i^(bit i of x) with z_0 = z and z_(i+1) = 2·z_i² − 1, and that of a segment the
// weight of its first index.
func appendSegmentWeights(all []field.M31, z field.M31, low, vars int) []field.M31 {
	for range low {
		z = z.Square().Double().Sub(1)
	}
	first := len(all)
	all = append(all, 1)
	for range vars - low {
		for _, w := range all[first:] {
			all = append(all, w.Mul(z))
		}
		z = z.Square().Double().Sub(1)
	}
	return all
}

// sumOfWeights returns the sum of all 2^vars weights of evaluation at z: the product of 1 + z_i, with z_i as in
// appendSegmentWeights.
func sumOfWeights(z field.M31, vars int) field.M31 {
	sum := field.M31(1)
	for range vars {
		sum = sum.Mul(z.Add(1))
		z = z.Square().Double().Sub(1)
	}
	return sum
}

// eachRows calls f with the tree's rows on this device, some at a time in their order, while they are on the device
// as bytes. If the tree's rows are as long as the table's, these are rows of the table. Otherwise, and for rows that
// are recomputed for each pass, they are packed for the call.
func (t *placed) eachRows(r *Rows, f func(rows []ByteRow, pitch int)) {
	for _, s := range t.sources {
		packed := t.shift == 0 && !t.aside && !r.passes(s)
		bytes, row := r.Stream.Context.Piece, func(uint64) ByteRow { return ByteRow{Width: 4} }
		if packed {
			bytes, row = r.Stream.Context.RowPiece(), func(slot uint64) ByteRow { return r.own[t.firstRow+slot] }
		}
		pass := func(p *packer) { p.eachPiece(r, s.slots, bytes, row, f) }
		if s.Again && !packed {
			r.withSegment(t.C, s.Of, pass)
		} else {
			pass(t.packer)
		}
	}
}

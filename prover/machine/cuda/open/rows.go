// Package open has what one device does for commitments and openings: rows of stacks are packed, encoded and hashed, and
// an opening's passes over its rows, and then over tables that these are folded to.
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

// Rows are the rows of all trees on the device, those that are not another's.
type Rows struct {
	Stream  *run.Stream
	Mem     *device.Scope
	Packed  *device.Scope // the rows that are not in their tensors
	RowVars int
	Pitch   int // of the table's rows
	Cut     int // log2 of how many of them were one row (Shorten)
	Trees   []placed
	At      []ByteRow // of the table; zeros where a row is another's, pending until it is packed
	own     []ByteRow // those of the trees that are here, wherever they have moved to (exchange)
	Code    *encoder
	groups  groupsAhead
	pieces  bool // rows that are not in their tensors are packed by each pass, some at a time (device.Mode)
	once    bool // rows of segments that are recomputed are packed once, and not by each pass
	room    int  // bytes of rows that stay nevertheless once they are packed (keep)

	q                 *whir.Functional
	weights, factored *weights // of the functional

	auxiliary *auxiliary // of a hiding opening, on the machine that opens; nil elsewhere
}

// placed is a tree's place in the table, and what there is of it.
type placed struct {
	*packer               // of the groups whose values are kept
	segments []run.Groups // nil if the values of all are kept. A table row has rows of one segment alone: stacks of chunks begin with one.
	shift    int          // see whir.Layout
	firstRow uint64
	numbers  []uint64 // of its table rows that are here
	slots    []uint64 // whose rows are here
	Runs     []rowRun // and where they are among the tree's rows
	aside    bool     // they are in no table row
}

// rowRun are n rows of a tree from one on.
type rowRun struct{ First, N int }

// NewRows returns the rows of an opening on a device, without any.
func NewRows(b *run.Stream, a *device.Scope, o *backend.Opening) *Rows {
	first := o.Params.Levels[0]
	return &Rows{Stream: b, Mem: a, Packed: device.NewScope(a), RowVars: first.RowVars, Pitch: kernels.RowPitch(1 << first.RowVars), At: make([]ByteRow, 1<<first.FoldVars)}
}

// Load packs the rows of this device that are not on it as rows already, or leaves them
// pending. owners are those of every tree's table rows.
func (r *Rows) Load(o *backend.Opening, owners [][]*device.Context) {
	how := r.Stream.Context.Mode()
	r.pieces, r.once, r.room = how.Rows, how.Packed, int(how.Stay)
	for i := range o.Commitments {
		c := tableOf(&o.Commitments[i])
		t := placed{shift: r.RowVars - c.RowVars, firstRow: o.RowOffsets[i]}
		var own []uint64
		for k, n := range c.TableRows(t.shift) {
			if owners[i][k] == r.Stream.Context {
				own = append(own, n)
			}
		}
		left := own // those that are not before the slots so far
		for k, slot := range c.TableRows(0) {
			for len(left) > 0 && left[0] < slot>>t.shift {
				left = left[1:]
			}
			if len(left) == 0 || left[0] != slot>>t.shift {
				continue
			}
			t.slots = append(t.slots, slot)
			if n := len(t.Runs); n > 0 && t.Runs[n-1].First+t.Runs[n-1].N == k {
				t.Runs[n-1].N++
			} else {
				t.Runs = append(t.Runs, rowRun{k, 1})
			}
		}
		t.numbers = own
		r.pack(&t, c)
		r.Trees = append(r.Trees, t)
	}
	r.own = slices.Clone(r.At)
	r.Stream.DropSegments()
}

// pack packs the rows of a tree that are here, or leaves them pending.
func (r *Rows) pack(t *placed, c backend.Commitment) {
	groups := groupsWith(&c, t.numbers, t.shift)
	t.segments = r.Stream.SegmentsOf(&c, groups)
	own := t.numbers
	if t.segments != nil {
		groups = nil
		for _, s := range t.segments {
			if !s.Again {
				groups = append(groups, s.Of...)
			}
		}
		own = t.numbersOf(&c, groups)
	}
	put := func(numbers []uint64, rows []ByteRow) {
		for k, row := range rows {
			r.At[t.firstRow+numbers[k]] = row
		}
	}
	t.packer = newPacker(r.Stream, r.Packed, c, groups)
	if t.segments != nil {
		put(t.numbers, expectedRows(r.Stream.Graph, &c, t.numbers, t.shift))
	}
	if r.pieces {
		put(own, t.unpacked(r.Stream.Graph, own, t.shift))
		r.keep(t, own, put)
	} else {
		put(own, t.tableRows(r.Packed, own, t.shift))
	}
	for _, s := range t.segments {
		if s.Again && r.once {
			own := t.numbersOf(&c, s.Of)
			r.withSegment(c, s.Of, func(p *packer) {
				p.leaving = true
				put(own, p.tableRows(r.Packed, own, t.shift))
			})
		}
	}
}

// groupsWith lists the groups that have rows in some table rows.
func groupsWith(c *backend.Commitment, tableRows []uint64, shift int) []int {
	var groups []int
	for i, g := range c.Groups {
		k, _ := slices.BinarySearch(tableRows, g.First>>shift)
		if k < len(tableRows) && tableRows[k] <= (g.First+uint64(g.Rows)-1)>>shift {
			groups = append(groups, i)
		}
	}
	return groups
}

// Places lists the places of n in long rows at which there are rows here.
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

// FoldRows sets f to what the long rows fold to at some places, increasing.
func (r *Rows) FoldRows(f kernels.Ptr, coefs []field.QM31, places []int) {
	n := len(r.At) / len(coefs)
	r.each(n, places, func(from, to int, more bool) {
		has := make([]bool, n)
		if more {
			for i, row := range r.At {
				has[i%n] = has[i%n] || row.Width > 0
			}
		}
		in := func(k int) bool { l := places[k]; return l >= from && l < to && (!more || has[l]) }
		for k := 0; k < len(places); {
			first := k
			for k < len(places) && in(k) {
				k++
			}
			if first < k {
				r.foldPlaces(f.Offset(first<<r.RowVars, device.ElementBytes), coefs, places[first:k], more)
			} else {
				k++
			}
		}
	})
}

// foldPlaces is foldRows for one place at least, whose rows are on the device, and adds to f if
// that has what other rows fold to: a plane of a row is a row of bytes with a weight of its own.
func (r *Rows) foldPlaces(f kernels.Ptr, coefs []field.QM31, places []int, add bool) {
	a := device.NewScope(r.Mem)
	defer a.Close()
	n := len(r.At) / len(coefs)
	longest := 1
	for _, l := range places {
		count := 0
		for h := range coefs {
			count += r.At[h*n+l].Width
		}
		longest = max(longest, count)
	}
	list := newFoldLists(len(places), longest)
	for k, l := range places {
		for h, w := range coefs {
			row := r.At[h*n+l]
			if bias := row.bias(); bias != 0 {
				list.constants[k] = list.constants[k].Add(w.MulM31(field.M31(bias)))
			}
			list.add(k, row, r.Pitch, w)
		}
	}
	rows := list.on(a)
	rows.RowVars, rows.Add = r.RowVars, add
	device.Check(kernels.FoldBytes(a, f, rows))
}

// foldLists are lists of planes of rows with their weights, and a constant for each.
type foldLists struct {
	longest            int
	rows               []kernels.Ptr
	weights, constants []field.QM31
	lengths            []int
}

// newFoldLists returns n empty lists of up to so many planes each.
func newFoldLists(n, longest int) *foldLists {
	const multiple = 64 // kernels.FoldedRows
	longest = (longest + multiple - 1) / multiple * multiple
	return &foldLists{longest, make([]kernels.Ptr, n*longest), make([]field.QM31, n*longest), make([]field.QM31, n), make([]int, n)}
}

// add adds the planes of a row to list k.
func (f *foldLists) add(k int, row ByteRow, pitch int, weight field.QM31) {
	// That of the list alone: one that is too long must not go on in the next.
	rows, weights := f.rows[k*f.longest:][:f.longest], f.weights[k*f.longest:][:f.longest]
	for j := range row.Width {
		i := f.lengths[k]
		rows[i], weights[i] = row.At.Offset(j, pitch), weight
		if j > 0 {
			weights[i] = weight.MulM31(1 << (8 * j))
		}
		f.lengths[k]++
	}
}

// on puts the lists on a device.
func (f *foldLists) on(a *device.Scope) kernels.FoldedRows {
	return kernels.FoldedRows{
		Rows: device.NewCopy(a, f.rows), Weights: device.NewCopy(a, f.weights), Constants: device.NewCopy(a, f.constants),
		Lists: len(f.constants), N: f.longest,
	}
}

// panelBytes is the most memory that panels of weights take at once.
const panelBytes = 1 << 30

// inPanel is how many points' weights a panel has.
const inPanel = 4

// segmentVars returns log2 of the length of the segments that rows of 2^vars values are cut into where they are
// multiplied with weights of so many points. Panels of these are of one segment, and all of them take no more than
// panelBytes, or four pieces, as far as segments are not cut to less than a piece of a panel.
func segmentVars(vars, points, piece int) int {
	const least = 6
	most := min(panelBytes, 4*piece)
	for vars > least && (points+inPanel-1)/inPanel*kernels.PanelBytes(vars) > most {
		vars--
	}
	return vars
}

// Columns is described at whir.Passes, for the rows that are here.
func (r *Rows) Columns(tree int, positions []uint64) [][]field.M31 {
	all := r.columns(&r.Trees[tree], positions)
	if x := r.auxiliary; x != nil && x.tree == tree {
		for k, more := range r.columns(&x.placed, positions) {
			all[k] = append(all[k], more...)
		}
	}
	return all
}

// RunsOf returns the runs of a tree's rows that Columns gives.
func (r *Rows) RunsOf(tree int) []rowRun {
	runs := r.Trees[tree].Runs
	if x := r.auxiliary; x != nil && x.tree == tree {
		runs = append(runs[:len(runs):len(runs)], x.Runs...)
	}
	return runs
}

// columns is Columns for a tree's rows that are in the table, or for the auxiliary row: a value of a codeword is a
// sum over a row with weights of the position alone. These are products of a weight within a segment, the same
// in each, and of one of the segment: so panels are short, and rows are read once for all positions.
func (r *Rows) columns(t *placed, positions []uint64) [][]field.M31 {
	a := device.NewScope(r.Mem)
	defer a.Close()
	total := len(t.slots)
	if total == 0 {
		return make([][]field.M31, len(positions))
	}
	vars := segmentVars(t.C.RowVars, len(positions), r.Stream.Context.Piece)
	segments := 1 << (t.C.RowVars - vars)
	panels := (len(positions) + inPanel - 1) / inPanel
	sums := device.NewWords(a, inPanel*panels*total*segments)
	ones, upper := make([]uint32, len(positions)), make([]field.M31, 0, len(positions)*segments<<r.Cut)
	points := make([]kernels.PointWeight, len(positions))
	domain := code.NewDomain(t.C.LogDomain())
	for k, p := range positions {
		points[k] = kernels.PointWeight{Coef: field.One, Z: domain.Point(p)}
		ones[k] = uint32(sumOfWeights(points[k].Z, vars))
		upper = appendSegmentWeights(upper, points[k].Z, vars, t.C.RowVars+r.Cut)
	}
	weights := device.NewArray[int8](a, panels*kernels.PanelBytes(vars))
	scratch := device.NewArray[uint8](a, kernels.PointScratch(vars, len(positions)))
	device.Check(kernels.PackPoints(a, weights, vars, device.NewCopy(a, points), len(positions), scratch))
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
		if len(list) == 0 {
			return
		}
		p := device.NewCopy(a, list)
		device.Check(kernels.AddByteProducts(a, kernels.ByteProduct{
			Weights: weights, Rows: p, Sums: sums,
			Panels: uint32(panels), Count: uint32(len(list)), Targets: uint32(total * segments), Pieces: kernels.Pieces(vars),
		}))
		a.Free(p)
	})
	if t.C.Salted() {
		t.addTailProducts(a, sums, positions, segments, r.Stream.Context.Piece)
	}
	all := len(positions) * total * segments
	out := device.NewArray[field.M31](a, all)
	device.Check(kernels.FinishProducts(a, out, sums, len(positions), total*segments, device.NewCopy(a, ones), device.NewCopy(a, constants)))
	if together := segments << r.Cut; together > 1 {
		parts := out
		total >>= r.Cut
		all /= together
		out = device.NewArray[field.M31](a, all)
		device.Check(kernels.JoinSegments(a, out, parts, device.NewCopy(a, upper), len(positions), total, together))
	}
	return slices.Collect(slices.Chunk(device.Fetch[field.M31](a, out, all), total))
}

// appendSegmentWeights appends the weights of evaluation at z of the first values of a row's segments, of 2^low
// values of 2^vars each.
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

// sumOfWeights returns the sum of the weights of evaluation at z of a row of 2^vars values.
func sumOfWeights(z field.M31, vars int) field.M31 {
	sum := field.M31(1)
	for range vars {
		sum = sum.Mul(z.Add(1))
		z = z.Square().Double().Sub(1)
	}
	return sum
}

// eachRows calls f with the tree's rows that are here, some at a time in their order: those
// of the table, or where these are longer others, packed for the call.
func (t *placed) eachRows(r *Rows, f func(rows []ByteRow, pitch int)) {
	numbers, inTable := t.slots, t.shift == 0 && !t.aside
	if inTable && t.segments == nil {
		t.eachPacked(r, numbers, f)
		return
	}
	pitch := kernels.RowPitch(1 << t.C.RowVars)
	atOnce := max(1, r.Stream.Context.Piece/(4*pitch))
	some := func(p *packer, numbers []uint64) {
		for from := 0; from < len(numbers); from += atOnce {
			a := device.NewScope(r.Mem)
			f(p.tableRows(a, numbers[from:min(from+atOnce, len(numbers))], 0), pitch)
			a.Close()
		}
	}
	if t.segments == nil {
		some(t.packer, numbers)
		return
	}
	for _, s := range t.segments {
		first, last := t.C.Groups[s.Of[0]], t.C.Groups[s.Of[len(s.Of)-1]]
		from, _ := slices.BinarySearch(numbers, first.First)
		to, _ := slices.BinarySearch(numbers, last.First+uint64(last.Rows))
		own := numbers[from:to]
		switch {
		case inTable && !r.passes(s):
			t.eachPacked(r, own, f)
		case !s.Again:
			some(t.packer, own)
		default:
			r.withSegment(t.C, s.Of, func(p *packer) { some(p, own) })
		}
	}
}

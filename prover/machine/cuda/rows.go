package cuda

import (
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/math/code"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// rows are the rows of all trees on the device, those that are not another's.
type rows struct {
	b       *Stream
	a       *scope
	packed  *scope // the rows that are not in their tensors
	rowVars int
	pitch   int // of the table's rows
	trees   []placed
	at      []byteRow // of the table; zeros where a row is another's, pending until it is packed
	own     []byteRow // those of the trees that are here, wherever they have moved to (exchange)
	code    *encoder
	weights *weights // of the functional
	groups  *groupsAhead
}

// placed is a tree's place in the table, and what there is of it.
type placed struct {
	*packer
	stretches [][]int // groups of stretches whose values are made again, one after the other; nil if all are kept
	shift     int     // see whir.Layout
	firstRow  uint64
	numbers   []uint64 // of its table rows that are here
	slots     []uint64 // whose rows are here
	runs      []rowRun // and where they are among the tree's rows
}

// rowRun are n rows of a tree from one on.
type rowRun struct{ first, n int }

// newRows returns the rows of an opening on a device, without any.
func newRows(b *Stream, a *scope, o *backend.Opening) *rows {
	first := o.Params.Levels[0]
	return &rows{b: b, a: a, packed: newScope(a), rowVars: first.RowVars, pitch: kernels.RowPitch(1 << first.RowVars), at: make([]byteRow, 1<<first.FoldVars)}
}

// load packs the rows of a home that are not on the device as rows already, or leaves them
// pending. homes are those of every tree's table rows.
func (r *rows) load(o *backend.Opening, homes [][]int, home int) {
	inPieces := r.b.m.Mode().Rows
	for i, c := range o.Commitments {
		t := placed{shift: r.rowVars - c.RowVars, firstRow: o.RowOffsets[i]}
		var own []uint64
		for k, n := range c.TableRows(t.shift) {
			if homes[i][k] == home {
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
			if n := len(t.runs); n > 0 && t.runs[n-1].first+t.runs[n-1].n == k {
				t.runs[n-1].n++
			} else {
				t.runs = append(t.runs, rowRun{k, 1})
			}
		}
		t.numbers = own
		groups := groupsWith(&c, own, t.shift)
		if t.stretches = r.b.stretchesOf(&c, groups); t.stretches == nil {
			t.packer = newPacker(r.b, r.packed, c, groups)
		} else {
			t.packer = &packer{c: c}
		}
		var rows []byteRow
		switch {
		case t.stretches != nil:
			rows = expectedRows(r.b.g, &c, own, t.shift)
		case inPieces:
			rows = t.unpacked(r.b.g, own, t.shift)
		default:
			rows = t.tableRows(r.packed, own, t.shift)
		}
		for k, row := range rows {
			r.at[t.firstRow+own[k]] = row
		}
		r.trees = append(r.trees, t)
	}
	r.own = slices.Clone(r.at)
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

// places lists the places of n in long rows at which there are rows here.
func (r *rows) places(n int) []int {
	has := make([]bool, n)
	for i, row := range r.at {
		has[i%n] = has[i%n] || row.width > 0
	}
	var list []int
	for l := range n {
		if has[l] {
			list = append(list, l)
		}
	}
	return list
}

// foldRows sets f to what the long rows fold to at some places, increasing.
func (r *rows) foldRows(f kernels.Ptr, coefs []field.QM31, places []int) {
	n := len(r.at) / len(coefs)
	r.each(n, func(from, to int, more bool) {
		has := make([]bool, n)
		if more {
			for i, row := range r.at {
				has[i%n] = has[i%n] || row.width > 0
			}
		}
		in := func(k int) bool { l := places[k]; return l >= from && l < to && (!more || has[l]) }
		for k := 0; k < len(places); {
			first := k
			for k < len(places) && in(k) {
				k++
			}
			if first < k {
				r.foldPlaces(f.Offset(first<<r.rowVars, elementBytes), coefs, places[first:k], more)
			} else {
				k++
			}
		}
	})
}

// foldPlaces is foldRows for one place at least, whose rows are on the device, and adds to f if
// that has what other rows fold to: a plane of a row is a row of bytes with a weight of its own.
func (r *rows) foldPlaces(f kernels.Ptr, coefs []field.QM31, places []int, add bool) {
	a := newScope(r.a)
	defer a.close()
	n := len(r.at) / len(coefs)
	longest := 1
	for _, l := range places {
		count := 0
		for h := range coefs {
			count += r.at[h*n+l].width
		}
		longest = max(longest, count)
	}
	const multiple = 64
	longest = (longest + multiple - 1) / multiple * multiple
	addresses, weights := make([]kernels.Ptr, len(places)*longest), make([]field.QM31, len(places)*longest)
	constants := make([]field.QM31, len(places))
	for k, l := range places {
		i := k * longest
		for h, w := range coefs {
			row := r.at[h*n+l]
			if row.width > 1 {
				constants[k] = constants[k].Add(w.MulM31(field.M31(row.bias())))
			}
			for j := range row.width {
				addresses[i], weights[i] = row.at.Offset(j, r.pitch), w
				if j > 0 {
					weights[i] = w.MulM31(1 << (8 * j))
				}
				i++
			}
		}
	}
	check(kernels.FoldBytes(a, f, kernels.FoldedRows{
		Rows: newCopy(a, addresses), Weights: newCopy(a, weights), Constants: newCopy(a, constants),
		Lists: len(places), N: longest, RowVars: r.rowVars, Add: add,
	}))
}

// panelBytes is the most memory that panels of weights take at once.
const panelBytes = 1 << 30

// columns is described at whir.Passes, for the rows that are here: a value of a codeword is a
// sum over a row with weights of the position alone.
func (r *rows) columns(tree int, positions []uint64) [][]field.M31 {
	a := newScope(r.a)
	defer a.close()
	t := &r.trees[tree]
	vars, total := t.c.RowVars, len(t.slots)
	if total == 0 {
		return make([][]field.M31, len(positions))
	}
	const inPanel = 4
	panels := (len(positions) + inPanel - 1) / inPanel
	sums := newWords(a, inPanel*panels*total)
	ones := make([]uint32, len(positions))
	points := make([]kernels.PointWeight, len(positions))
	domain := code.NewDomain(t.c.LogDomain())
	for k, p := range positions {
		points[k] = kernels.PointWeight{Coef: field.One, Z: domain.Point(p)}
		ones[k] = uint32(sumOfWeights(points[k].Z, vars))
	}
	where := newCopy(a, points)
	atOnce := max(1, panelBytes/kernels.PanelBytes(vars))
	weights := newArray[int8](a, min(atOnce, panels)*kernels.PanelBytes(vars))
	scratch := newArray[uint8](a, kernels.PointScratch(vars, min(atOnce*inPanel, len(positions))))
	var constants []uint32
	for from := 0; from < panels; from += atOnce {
		n := min(atOnce, panels-from)
		check(kernels.PackPoints(a, weights, vars, kernels.At[kernels.PointWeight](where, inPanel*from), min(inPanel*n, len(positions)-inPanel*from), scratch))
		constants = constants[:0]
		t.eachRows(r, func(rows []byteRow, pitch int) {
			list := appendPlanes(nil, rows, pitch)
			for i := range list {
				list[i].Target += uint32(len(constants))
			}
			constants = append(constants, biases(rows)...)
			if len(list) == 0 {
				return
			}
			p := newCopy(a, list)
			check(kernels.AddByteProducts(a, kernels.ByteProduct{
				Weights: weights, Rows: p, Sums: kernels.At[uint64](sums, inPanel*from*total),
				Panels: uint32(n), Count: uint32(len(list)), Targets: uint32(total), Pieces: kernels.Pieces(vars),
			}))
			a.Free(p)
		})
	}
	out := newArray[field.M31](a, len(positions)*total)
	check(kernels.FinishProducts(a, out, sums, len(positions), total, newCopy(a, ones), newCopy(a, constants)))
	return slices.Collect(slices.Chunk(fetch[field.M31](a, out, len(positions)*total), total))
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
func (t *placed) eachRows(r *rows, f func(rows []byteRow, pitch int)) {
	numbers := t.slots
	if t.shift == 0 && t.stretches == nil {
		t.eachPacked(r, numbers, f)
		return
	}
	pitch := kernels.RowPitch(1 << t.c.RowVars)
	atOnce := max(1, r.b.m.piece/(4*pitch))
	some := func(p *packer, numbers []uint64) {
		for from := 0; from < len(numbers); from += atOnce {
			a := newScope(r.a)
			f(p.tableRows(a, numbers[from:min(from+atOnce, len(numbers))], 0), pitch)
			a.close()
		}
	}
	if t.stretches == nil {
		some(t.packer, numbers)
		return
	}
	for _, groups := range t.stretches {
		r.withStretch(t, groups, func(p *packer) {
			first, last := t.c.Groups[groups[0]], t.c.Groups[groups[len(groups)-1]]
			from, _ := slices.BinarySearch(numbers, first.First)
			to, _ := slices.BinarySearch(numbers, last.First+uint64(last.Rows))
			some(p, numbers[from:to])
		})
	}
}

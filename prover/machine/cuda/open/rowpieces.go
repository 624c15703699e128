package open

import (
	"context"
	"errors"
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// Rows of an opening that are not in their tensors as they are, packed as bytes for each of its
// passes, some at a time, where there is no room for all of them beside the tensors
// (device.Mode). Passes go by places of long rows: all rows at some places, which are
// all that the products with claims there and the fold to there take, are packed, read and
// dropped.

// Pending says that a row is packed when a pass wants it.
func (r ByteRow) Pending() bool { return r.At == 0 && r.Width > 0 }

// unpacked returns table rows as tableRows does, but those pending that it would pack. Rows from
// the host's memory have the width of their range.
func (p *packer) unpacked(g *model.Graph, numbers []uint64, shift int) []ByteRow {
	if p.host == nil {
		rows, _ := p.findRows(numbers, shift)
		return rows
	}
	return expectedRows(g, &p.C, numbers, shift)
}

// expectedRows returns table rows, all pending, with the widths of their ranges.
func expectedRows(g *model.Graph, c *backend.Commitment, numbers []uint64, shift int) []ByteRow {
	expected := &packer{C: *c, stacks: expectedStacks(g, c)}
	rows, _ := expected.findRows(numbers, shift)
	for i := range rows {
		rows[i].At = 0
	}
	return rows
}

// keptAtOnce is how many bytes of rows are packed at a time that stay: in memory of their own, for which there may be room where there is
// none for all together.
const keptAtOnce = 1 << 29

// keep packs the first of a tree's pending table rows, as many as there is room for, which then stay. Where there is less room than was
// thought none do, so that what the opening needs besides has it.
func (r *Rows) keep(t *placed, own []uint64, put func(numbers []uint64, rows []ByteRow)) {
	all, kept := own, device.NewScope(r.Packed)
	for t.host == nil && len(own) > 0 {
		n, size := 0, 0
		for ; n < len(own); n++ {
			if row := r.At[t.firstRow+own[n]]; row.Pending() {
				if more := size + row.Width*r.Pitch; more > r.room || size > 0 && more > keptAtOnce {
					break
				}
				size += row.Width * r.Pitch
			}
		}
		if size == 0 {
			return
		}
		rows, err := device.Pass(context.Background(), func() []ByteRow { return t.tableRows(kept, own[:n], t.shift) })
		if errors.Is(err, kernels.ErrMemory) {
			kept.Close()
			put(all, t.unpacked(r.Stream.Graph, all, t.shift))
			r.room = 0
			return
		}
		device.Check(err)
		put(own[:n], rows)
		r.room, own = r.room-size, own[n:]
	}
}

// each calls f with the rows at some places of long rows of n rows, increasing, on the device, some at a time (byPieces). Then it calls it,
// with more, with the rows of segments whose values are recomputed for each pass. What f does adds up.
func (r *Rows) each(n int, places []int, f func(from, to int, more bool)) {
	all := r.At
	defer func() { r.At = all }()
	r.At = slices.Clone(all)
	for i := range r.Trees {
		t := &r.Trees[i]
		for _, s := range t.segments {
			if r.passes(s) {
				for _, number := range t.numbersOf(&t.C, s.Of) {
					r.At[t.firstRow+number] = ByteRow{}
				}
			}
		}
	}
	r.byPieces(n, places, func(from, to int) { f(from, to, false) })
	for i := range r.Trees {
		t := &r.Trees[i]
		for _, s := range t.segments {
			if !r.passes(s) {
				continue
			}
			r.withSegment(t.C, s.Of, func(p *packer) {
				a := device.NewScope(r.Mem)
				defer a.Close()
				own := t.numbersOf(&t.C, s.Of)
				r.At = make([]ByteRow, len(all))
				for k, row := range p.tableRows(a, own, t.shift) {
					r.At[t.firstRow+own[k]] = row
				}
				f(0, n, true)
			})
		}
	}
}

// passes says whether rows of groups are packed by each pass, after their values have been recomputed.
func (r *Rows) passes(s run.Groups) bool { return s.Again && !r.once }

// numbersOf lists the table rows that have some of the rows of groups.
func (t *placed) numbersOf(c *backend.Commitment, groups []int) []uint64 {
	var own []uint64
	for _, i := range groups {
		g := &c.Groups[i]
		k, _ := slices.BinarySearch(t.numbers, g.First>>t.shift)
		for ; k < len(t.numbers) && t.numbers[k] <= (g.First+uint64(g.Rows)-1)>>t.shift; k++ {
			if n := len(own); n == 0 || own[n-1] < t.numbers[k] {
				own = append(own, t.numbers[k])
			}
		}
	}
	return own
}

// withSegment calls f with a packer for groups of a commitment, of one segment, while its values are on
// the device.
func (r *Rows) withSegment(c backend.Commitment, groups []int, f func(p *packer)) {
	a := device.NewScope(r.Mem)
	defer a.Close()
	defer r.Stream.LeaveSegments()
	f(newPacker(r.Stream, a, c, groups)) // the values are the device's
}

// byPieces calls f with ranges of some places in long rows of n rows, increasing, and maybe others between them, for
// as long as their rows are all on the device: one range if nothing is pending.
func (r *Rows) byPieces(n int, places []int, f func(from, to int)) {
	if !slices.ContainsFunc(r.At, ByteRow.Pending) {
		f(0, n)
		return
	}
	bytes := make([]int, n) // of a place
	for i, row := range r.At {
		if row.Pending() {
			bytes[i%n] += row.Width * r.Pitch
		}
	}
	for len(places) > 0 {
		k, size := 1, bytes[places[0]]
		for k < len(places) && places[k] == places[0]+k && size+bytes[places[k]] <= r.Stream.Context.RowPiece() {
			size += bytes[places[k]]
			k++
		}
		from, to := places[0], places[0]+k
		r.withPlaces(n, from, to, func() { f(from, to) })
		places = places[k:]
	}
}

// withPlaces calls f while the rows at places from to to−1 of long rows of n rows are on the
// device.
func (r *Rows) withPlaces(n, from, to int, f func()) {
	a := device.NewScope(r.Mem)
	all := r.At
	r.At = slices.Clone(all)
	defer func() {
		r.At = all
		a.Close()
	}()
	for i := range r.Trees {
		t := &r.Trees[i]
		var numbers []uint64
		for h := 0; h < len(all); h += n {
			k, _ := slices.BinarySearchFunc(t.numbers, h+from, func(number uint64, row int) int { return int(t.firstRow+number) - row })
			for ; k < len(t.numbers) && t.firstRow+t.numbers[k] < uint64(h+to); k++ {
				if all[t.firstRow+t.numbers[k]].Pending() {
					numbers = append(numbers, t.numbers[k])
				}
			}
		}
		for k, row := range t.tableRows(a, numbers, t.shift) {
			r.At[t.firstRow+numbers[k]] = row
		}
	}
	f()
}

// eachPacked calls f with table rows of a tree, some at a time in their order, while they are on
// the device.
func (t *placed) eachPacked(r *Rows, numbers []uint64, f func(rows []ByteRow, pitch int)) {
	row := func(number uint64) ByteRow { return r.own[t.firstRow+number] }
	for from := 0; from < len(numbers); {
		var packed []uint64
		to, size := from, 0
		for ; to < len(numbers); to++ {
			if x := row(numbers[to]); x.Pending() {
				bytes := x.Width * r.Pitch
				if len(packed) > 0 && size+bytes > r.Stream.Context.RowPiece() {
					break
				}
				packed, size = append(packed, numbers[to]), size+bytes
			}
		}
		some := make([]ByteRow, to-from)
		a := device.NewScope(r.Mem)
		own := t.tableRows(a, packed, t.shift)
		for i := range some {
			if some[i] = row(numbers[from+i]); some[i].Pending() {
				some[i], own = own[0], own[1:]
			}
		}
		f(some, r.Pitch)
		a.Close()
		from = to
	}
}

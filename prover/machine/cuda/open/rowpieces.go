package open

import (
	"context"
	"errors"
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// Rows of an opening that are not in their tensors as they are, packed as bytes for each of its
// passes, some at a time, where there is no room for all of them beside the tensors
// (device.Mode). Passes go by places of long rows: all rows at some places, which are
// all that the products with claims there and the fold to there take, are packed, read and
// dropped.

// Pending says that a row is packed when a pass wants it.
func (r ByteRow) Pending() bool { return r.At == 0 && r.Width > 0 }

// keptAtOnce is how many bytes of rows are packed at a time that stay: in memory of their own, for which there may be room where there is
// none for all together.
const keptAtOnce = 1 << 29

// keep packs the first of a tree's pending table rows, as many as there is room for, which then stay. Where there is less room than was
// thought none do, so that what the opening needs besides has it.
func (r *Rows) keep(t *placed, own []uint64) {
	all, kept := own, device.NewScope(r.Packed)
	for t.host == nil && len(own) > 0 {
		n, size := 0, 0
		for ; n < len(own); n++ {
			if row := r.At[t.firstRow+own[n]]; row.Pending() {
				if more := size + row.Width*r.Pitch; more > int(r.how.Stay) || size > 0 && more > keptAtOnce {
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
			t.put(r.At, all, t.findRows(all, t.shift))
			r.how.Stay = 0
			return
		}
		device.Check(err)
		t.put(r.At, own[:n], rows)
		r.how.Stay, own = r.how.Stay-int64(size), own[n:]
	}
}

// with calls f while the table has other rows.
func (r *Rows) with(rows []ByteRow, f func()) {
	all := r.At
	defer func() { r.At = all }()
	r.At = rows
	f()
}

// each calls f with the rows at some places of long rows of n rows, increasing, on the device, some at a time (byPieces). Then it calls it,
// with more, with the rows of segments whose values are recomputed for each pass. What f does adds up.
func (r *Rows) each(n int, places []int, f func(from, to int, more bool)) {
	kept := slices.Clone(r.At)
	passing := func(f func(t *placed, s source)) {
		for i := range r.Trees {
			for _, s := range r.Trees[i].sources {
				if r.passes(s) {
					f(&r.Trees[i], s)
				}
			}
		}
	}
	passing(func(t *placed, s source) { t.put(kept, s.numbers, make([]ByteRow, len(s.numbers))) })
	r.with(kept, func() { r.byPieces(n, places, func(from, to int) { f(from, to, false) }) })
	passing(func(t *placed, s source) {
		r.withSegment(t.C, s.Of, func(p *packer) {
			a := device.NewScope(r.Mem)
			defer a.Close()
			rows := make([]ByteRow, len(r.At))
			t.put(rows, s.numbers, p.tableRows(a, s.numbers, t.shift))
			r.with(rows, func() { f(0, n, true) })
		})
	})
}

// passes says whether rows are packed by each pass, after their values have been recomputed.
func (r *Rows) passes(s source) bool { return s.Again && !r.how.Packed }

// withSegment calls f with a packer for groups of a commitment, of one segment, while its values are on
// the device.
func (r *Rows) withSegment(c backend.Commitment, groups []int, f func(p *packer)) {
	a := device.NewScope(r.Mem)
	defer a.Close()
	defer r.Stream.LeaveSegments()
	f(newPacker(r.Stream, a, c, groups, r.Stream.Find)) // the values are the device's
}

// byPieces calls f with ranges of some places in long rows of n rows, increasing, and maybe others between them, for
// as long as their rows are all on the device: one range if nothing is pending.
func (r *Rows) byPieces(n int, places []int, f func(from, to int)) {
	bytes, pending := make([]int, n), false // of a place
	for i, row := range r.At {
		if row.Pending() {
			bytes[i%n], pending = bytes[i%n]+row.Width*r.Pitch, true
		}
	}
	if !pending {
		f(0, n)
		return
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
	defer a.Close()
	rows := slices.Clone(r.At)
	for i := range r.Trees {
		t := &r.Trees[i]
		var own []uint64
		for _, number := range t.numbers {
			row := t.firstRow + number
			if l := int(row) % n; l >= from && l < to && r.At[row].Pending() {
				own = append(own, number)
			}
		}
		t.put(rows, own, t.tableRows(a, own, t.shift))
	}
	r.with(rows, f)
}

// eachPiece calls f with rows of a tree, some at a time in their order, while they are on
// the device: rows that are there, or pending ones of so many bytes that are packed.
func (p *packer) eachPiece(r *Rows, numbers []uint64, bytes int, row func(number uint64) ByteRow, f func(rows []ByteRow, pitch int)) {
	pitch := kernels.RowPitch(1 << p.C.RowVars)
	for len(numbers) > 0 {
		var rows []ByteRow
		var pending []uint64
		size := 0
		for _, number := range numbers {
			x := row(number)
			if x.Pending() {
				if size += x.Width * pitch; len(pending) > 0 && size > bytes {
					break
				}
				pending = append(pending, number)
			}
			rows = append(rows, x)
		}
		a := device.NewScope(r.Mem)
		own := p.tableRows(a, pending, 0)
		for i := range rows {
			if rows[i].Pending() {
				rows[i], own = own[0], own[1:]
			}
		}
		f(rows, pitch)
		a.Close()
		numbers = numbers[len(rows):]
	}
}

package open

import (
	"context"
	"errors"
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// Rows of an opening that do not lie in a tensor as they are have to be packed as bytes. If there is
// no room for all of them beside the tensors (device.Mode.Rows), each pass packs them anew, some at a time.
// A pass goes by places of long rows: the products with claims at a place, and the fold to that place,
// read only the rows at the place. So all rows at some places are packed, read and dropped, and
// then those at the next ones.

// Pending says that the row is not packed: a pass packs it when it reads the row.
func (r ByteRow) Pending() bool { return r.At == 0 && r.Width > 0 }

// keptAtOnce is how many bytes of rows that stay are packed into one allocation. There may be room for several allocations where there
// is none for a single large one.
const keptAtOnce = 1 << 29

// keep packs the first of a tree's pending table rows `own`, up to Mode.Stay bytes, and keeps them until the opening is done. If memory
// runs out, it keeps none of them, and leaves the memory to the rest of the opening.
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

// with calls f while r.At is replaced by rows.
func (r *Rows) with(rows []ByteRow, f func()) {
	all := r.At
	defer func() { r.At = all }()
	r.At = rows
	f()
}

// each calls f several times, each time with some rows on the device, so that every row comes once; f must add up its results. First
// come the rows whose values are kept, at ranges from … to−1 of the given places (byPieces), with `more` false. Then, with `more` true
// and all n places, come the rows whose values are recomputed for each pass, one segment after the other, all other rows being zeros.
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

// passes says whether the values of s are recomputed, and its rows packed, for each pass.
func (r *Rows) passes(s source) bool { return s.Again && !r.how.Packed }

// withSegment calls f with a packer for groups of a commitment whose values one segment recomputes. The values are on the device during
// the call.
func (r *Rows) withSegment(c backend.Commitment, groups []int, f func(p *packer)) {
	a := device.NewScope(r.Mem)
	defer a.Close()
	defer r.Stream.LeaveSegments()
	f(newPacker(r.Stream, a, c, groups, r.Stream.Find)) // Find enters the segment, which recomputes the values if they are gone
}

// byPieces calls f with ranges of places in long rows of n rows, while the rows at these places are on the device. The ranges cover the
// given places, which are increasing. If no row is pending it calls f once, with all n places. Otherwise a range has about RowPiece bytes
// of pending rows, and at least one place.
func (r *Rows) byPieces(n int, places []int, f func(from, to int)) {
	bytes, pending := make([]int, n), false // by place: bytes of pending rows
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

// withPlaces packs the pending rows at places from … to−1 of long rows of n rows, and calls f while they
// are on the device.
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

// eachPiece calls f with the rows of a tree with the given numbers, in their order and some at a time.
// row returns the row of a number, which may be pending; pending rows are packed for the call, about
// `bytes` bytes of them at a time.
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

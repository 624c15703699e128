package peers

import (
	"context"
	"errors"
	"math/bits"
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/open"
)

// What long rows fold to at a place is a sum over the rows at that place, in elements of K. So that
// no such sums go from machine to machine, rows do, as the bytes that they are, until all rows at a
// place are one machine's. Which machine that is goes by bits of the place's number, as groups of
// rows are dealt, where the number of machines is a power of two.

// shares says whose the places are: machine i has those whose number has i in the bits from shift
// on. The zero value says nothing.
type shares struct {
	n, shift, machines int // places in long rows
}

// of returns the machine that has a place.
func (s shares) of(place int) int { return place >> s.shift & (s.machines - 1) }

// places lists those of a machine.
func (s shares) places(machine int) []int {
	var list []int
	for l := range s.n {
		if s.of(l) == machine {
			list = append(list, l)
		}
	}
	return list
}

// above returns how many variables of a place's number are before those that say whose it is.
func (s shares) above() int { return bits.TrailingZeros(uint(s.n/s.machines)) - s.shift }

// machines returns the rows of all machines, those of the first one first.
func (r *sharedRows) machines() []*open.Rows { return append([]*open.Rows{r.Rows}, r.others...) }

// mayExchange says whether rows may move: where the number of machines is a power of two, and no rows are packed by each pass.
func (r *sharedRows) mayExchange() bool {
	all := r.machines()
	return !r.Stream.Context.Mode().Rows && len(all) > 1 && len(all)&(len(all)-1) == 0 &&
		!slices.ContainsFunc(all, func(x *open.Rows) bool { return slices.ContainsFunc(x.At, open.ByteRow.Pending) })
}

// exchange deals the places of long rows of n rows to machines and moves rows to where they belong,
// or does nothing where that cannot be done, as rows that are packed by each pass stay where their
// tensors are, or would move more bytes than Context.MostMoved allows.
func (r *sharedRows) exchange(ctx context.Context, n int) {
	all := r.machines()
	r.shares = shares{}
	if !r.mayExchange() || n < len(all) {
		return
	}
	s, moved := dealPlaces(all, n)
	if moved*r.Pitch > r.Stream.Context.MostMoved*n<<r.RowVars {
		return
	}
	moves := make([]kernels.Ptr, len(all)) // where rows go, by machine
	for to, x := range all {
		if size := r.incoming(s, to); size > 0 {
			at, err := x.Packed.Alloc(size)
			if errors.Is(err, kernels.ErrMemory) {
				return // what there is for others goes with the opening
			}
			r.told(x, nil, err)
			moves[to] = at
		}
	}
	takes := make([][]func(), len(all)) // by machine
	for from, y := range all {
		extents := y.Stream.Context.Dev.Extents()
		for to, x := range all {
			if from != to {
				take, end := r.move(s, to, x, y, moves[to], extents)
				moves[to], takes[to] = end, append(takes[to], take)
			}
		}
	}
	take := func(to int) {
		for _, f := range takes[to] {
			f()
		}
	}
	r.together(ctx, func() { take(0) }, func(i int, _ *open.Rows) { take(i + 1) })
	r.shares = s
}

// dealPlaces returns the shares for which the fewest planes of rows move, and of those the ones with the
// most variables above, and how many move.
func dealPlaces(all []*open.Rows, n int) (best shares, least int) {
	planes := make([][]int, len(all)) // by machine and place
	for i, x := range all {
		planes[i] = make([]int, n)
		for row, b := range x.At {
			planes[i][row%n] += b.Width
		}
	}
	for shift := bits.TrailingZeros(uint(n / len(all))); shift >= 0; shift-- {
		s := shares{n, shift, len(all)}
		moved := 0
		for l := range n {
			for i := range all {
				if s.of(l) != i {
					moved += planes[i][l]
				}
			}
		}
		if best.n == 0 || moved <= least {
			best, least = s, moved
		}
	}
	return best, least
}

// incoming returns the bytes that go to a machine.
func (r *sharedRows) incoming(s shares, to int) int {
	size := 0
	for from, x := range r.machines() {
		for row, b := range x.At {
			if from != to && b.Width > 0 && s.of(row%s.n) == to {
				size += b.Width * r.Pitch
			}
		}
	}
	return size
}

// move has rows of a machine y belong to another one, x, of that number, where they lie from `at` on, and x's queue wait for them. It
// returns what copies them there, and where they end. extents are the allocations of y.
func (r *sharedRows) move(s shares, to int, x, y *open.Rows, at kernels.Ptr, extents device.Extents) (take func(), end kernels.Ptr) {
	all, end := stretches(y.At, func(row int) bool { return s.of(row%s.n) == to }, r.Pitch, extents), at
	for _, b := range all {
		for _, row := range b.rows {
			x.At[row], y.At[row] = y.At[row], open.ByteRow{}
			x.At[row].At, end = end, end.Offset(x.At[row].Width, r.Pitch)
		}
	}
	if len(all) > 0 { // now, and not when y's queue copies rows to others
		r.told(x, y, kernels.After(x.Stream.Dev, y.Stream.Dev))
	}
	return func() {
		for _, b := range all {
			r.told(x, y, kernels.CopyFrom(x.Stream.Dev, at, y.Stream.Dev, b.from, b.bytes))
			at = at.Offset(b.bytes, 1)
		}
	}, end
}

// stretch are rows that lie one behind the other in one allocation.
type stretch struct {
	from  kernels.Ptr
	bytes int
	rows  []int
}

// stretches divides the rows of a list that are to move, in their order, which are not zeros.
func stretches(list []open.ByteRow, moves func(row int) bool, pitch int, extents device.Extents) []stretch {
	var all []stretch
	var next, end kernels.Ptr // where the last one goes on, and the allocation ends
	for row, b := range list {
		if b.Width == 0 || !moves(row) {
			continue
		}
		if len(all) == 0 || b.At != next || next >= end {
			all, end = append(all, stretch{from: b.At}), extents.End(b.At)
		}
		last := &all[len(all)-1]
		last.bytes, last.rows = last.bytes+b.Width*pitch, append(last.rows, row)
		next = b.At.Offset(b.Width, pitch)
	}
	return all
}

// told is check for an error of machine x, or of y, from which it reads: a device.Error for that of
// another one than the first.
func (r *sharedRows) told(x, y *open.Rows, err error) {
	if errors.As(err, new(*kernels.SourceError)) {
		x = y
	}
	if err != nil && x != r.Rows {
		err = &device.Error{On: x.Stream.Context, Err: err}
	}
	device.Check(err)
}

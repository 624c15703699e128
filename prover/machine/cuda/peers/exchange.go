package peers

import (
	"context"
	"errors"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/open"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/protocol/whir"
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
func (s shares) above() int { return log2(s.n/s.machines) - s.shift }

func log2(n int) int { return bits.TrailingZeros(uint(n)) }

// mayExchange says whether rows may move: where the number of machines is a power of two, and no rows are packed by each pass, which stay
// where their tensors are.
func (r *sharedRows) mayExchange() bool {
	n := len(r.all)
	return !r.Stream.Context.Mode().Rows && n > 1 && n&(n-1) == 0 &&
		!slices.ContainsFunc(r.all, func(x *open.Rows) bool { return slices.ContainsFunc(x.At, open.ByteRow.Pending) })
}

// exchange deals the places of long rows of n rows to machines and moves rows to where they belong, or returns false where that would move
// more bytes than Context.MostMoved allows, or there is no room.
func (r *sharedRows) exchange(ctx context.Context, n int) bool {
	if n < len(r.all) {
		return false
	}
	s, moved := dealPlaces(r.all, n, r.Cut)
	if moved*r.Pitch > r.Stream.Context.MostMoved*n<<r.RowVars {
		return false
	}
	from := make([][][]stretch, len(r.all)) // by machine that rows go to, and that they come from
	to := make([]kernels.Ptr, len(r.all))
	var short atomic.Bool
	r.together(ctx, func(i int, x *open.Rows) {
		size := 0
		for _, y := range r.all {
			var all []stretch
			if y != x {
				all = stretches(y.At, func(row int) bool { return s.of(row%s.n) == i }, r.Pitch, y.Stream.Context.Dev.Extents())
			}
			for _, b := range all {
				size += b.bytes
			}
			if from[i] = append(from[i], all); len(all) > 0 { // now, and not when y's queue copies rows of others
				behind(x.Stream.Dev, y.Stream)
			}
		}
		if size > 0 {
			at, err := x.Packed.Alloc(size)
			if errors.Is(err, kernels.ErrMemory) {
				short.Store(true) // what there is for others goes with the opening
				return
			}
			device.Check(err)
			to[i] = at
		}
	})
	if short.Load() {
		return false
	}
	for i, x := range r.all {
		at := to[i]
		for k, y := range r.all {
			for _, b := range from[i][k] {
				for _, row := range b.rows {
					x.At[row], y.At[row] = y.At[row], open.ByteRow{}
					x.At[row].At, at = at, at.Offset(x.At[row].Width, r.Pitch)
				}
			}
		}
	}
	r.together(ctx, func(i int, x *open.Rows) {
		at := to[i]
		for k, y := range r.all {
			for _, b := range from[i][k] {
				bring(x.Stream.Dev, at, y.Stream, b.from, b.bytes)
				at = at.Offset(b.bytes, 1)
			}
		}
	})
	r.shares = s
	return true
}

// dealPlaces returns the shares for which the fewest planes of rows move, and of those the ones with the
// most variables above, and how many move. Of places, the lowest `cut` variables number parts of what are rows elsewhere: they are bound
// after all that number rows, when the tables must be one machine's.
func dealPlaces(all []*open.Rows, n, cut int) (best shares, least int) {
	for shift := log2(n / len(all)); shift >= max(0, cut-log2(len(all))); shift-- {
		s := shares{n, shift, len(all)}
		moved := 0
		for i, x := range all {
			for row, b := range x.At {
				if s.of(row%n) != i {
					moved += b.Width
				}
			}
		}
		if best.n == 0 || moved <= least {
			best, least = s, moved
		}
	}
	return best, least
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

// splitTables are tables of which each machine has the places that are its own (shares), for as many
// rounds as bind variables that are before those that say whose a place is. Then each has one segment
// of the tables, and the first one takes all. If a machine is lost, the first one has all of the tables from then on, as one part.
type splitTables struct {
	r     *sharedRows
	point []field.QM31   // the challenges that variables are bound to
	parts []*open.Tables // by machine
}

// foldSplit makes what rows fold to at a point of their first variables, and the functional on that,
// each machine at its own places. It returns for how many rounds the tables are split.
func (r *sharedRows) foldSplit(ctx context.Context, point []field.QM31) (s *splitTables, rounds int) {
	dealt, coefs := r.shares, poly.EqTable(point)
	s, rounds = &splitTables{r: r, point: slices.Clone(point), parts: make([]*open.Tables, dealt.machines)}, dealt.above()
	failed := attempt(func() {
		own := dealt.n << r.RowVars / dealt.machines // elements of each
		r.together(ctx, func(i int, x *open.Rows) {
			room := own
			if i == 0 { // for all that the rounds leave
				room = max(own, dealt.n<<r.RowVars>>rounds)
			}
			t, places := r.newTables(x, room), dealt.places(i)
			t.N = own
			x.FoldRows(t.F, coefs, places)
			x.FoldFunctional(t.Q, coefs, places)
			s.parts[i] = t
		})
	})
	if failed != nil {
		s.fold(failed)
	}
	return s, rounds
}

// fold makes the tables on the first machine, after an error of another one.
func (s *splitTables) fold(failed *device.Error) {
	s.r.takeBack(failed)
	if own := s.parts[0]; own != nil {
		s.r.Mem.Free(own.F)
		s.r.Mem.Free(own.Q)
	}
	s.parts = []*open.Tables{s.r.fold(context.Background(), s.point)}
}

// withParts does something with all parts, and once more with the whole if that fails.
func (s *splitTables) withParts(f func()) {
	if failed := attempt(f); failed != nil {
		s.fold(failed)
		f()
	}
}

// Round returns the sums of the next round.
func (s *splitTables) Round() (total whir.Sums) {
	sums := make([]whir.Sums, len(s.parts))
	s.withParts(func() {
		s.r.together(context.Background(), func(i int, _ *open.Rows) { sums[i] = s.parts[i].Round() })
	})
	for i := range s.parts {
		total = whir.Sums{Zero: total.Zero.Add(sums[i].Zero), Top: total.Top.Add(sums[i].Top)}
	}
	return total
}

// Bind binds the first variable.
func (s *splitTables) Bind(r field.QM31) {
	for _, t := range s.parts { // which enqueues nothing, as a round has come before
		t.Bind(r)
	}
	s.point = append(s.point, r)
}

// gather brings the parts to the first machine, once no rounds are left for them.
func (s *splitTables) gather() *open.Tables {
	s.withParts(func() {
		f, q := make([]sumOf, len(s.parts)), make([]sumOf, len(s.parts))
		s.r.together(context.Background(), func(i int, _ *open.Rows) {
			t := s.parts[i]
			t.Bound()
			run := []elementRun{{i * t.N, t.N}}
			f[i], q[i] = sumOf{t.F, run}, sumOf{t.Q, run}
		})
		s.r.gather(s.parts[0].F, f, false)
		s.r.gather(s.parts[0].Q, q, false)
	})
	s.parts[0].N *= len(s.parts)
	return s.parts[0]
}

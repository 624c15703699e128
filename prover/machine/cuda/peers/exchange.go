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

// An opening views its table as long rows of n rows each; place l is the l-th row of each long row
// (open.DotTable). What long rows fold to at a place is a sum over the rows at that place, in
// elements of K, 16 bytes each. These sums would have to go from machine to machine if several had
// rows at one place. So rows are moved instead, which are bytes, until all rows at a place are on one
// machine. Which one follows from some bits of the place's number. The number of machines must
// be a power of two for it.

// shares says which machine has which places: machine i those whose number has the value i in its
// bits from bit shift on. In the zero value no places are dealt.
type shares struct {
	n, shift, machines int // n places in a long row
}

// of returns the machine that has a place.
func (s shares) of(place int) int { return place >> s.shift & (s.machines - 1) }

// places lists the places of a machine.
func (s shares) places(machine int) []int {
	var list []int
	for l := range s.n {
		if s.of(l) == machine {
			list = append(list, l)
		}
	}
	return list
}

// above returns how many bits of a place's number are above those that say which machine has it. So many rounds can be done on each
// machine's own places.
func (s shares) above() int { return log2(s.n/s.machines) - s.shift }

func log2(n int) int { return bits.TrailingZeros(uint(n)) }

// mayExchange says whether rows may move between machines: if there are several, a power of two of them, and no rows are packed anew by
// each pass. Such rows have to stay where their tensors are.
func (r *sharedRows) mayExchange() bool {
	n := len(r.all)
	return !r.Stream.Context.Mode().Rows && n > 1 && n&(n-1) == 0 &&
		!slices.ContainsFunc(r.all, func(x *open.Rows) bool { return slices.ContainsFunc(x.At, open.ByteRow.Pending) })
}

// exchange deals the places of long rows of n rows to machines, and moves rows to the machines that have their places. It returns false,
// and moves nothing, if it would move more bytes than Context.MostMoved allows, or if a machine has no room.
//
// It works in three steps: each machine allocates memory for the rows that it gets; this goroutine enters their new addresses in the
// tables; and each machine copies. The sources stay in memory (Rows.Packed, or the tensors), and queues wait with behind.
func (r *sharedRows) exchange(ctx context.Context, n int) bool {
	if n < len(r.all) {
		return false
	}
	s, moved := dealPlaces(r.all, n, r.Cut)
	// Bytes to move, against MostMoved bytes for each of the n·2^RowVars elements that rows fold to.
	if moved*r.Pitch > r.Stream.Context.MostMoved*n<<r.RowVars {
		return false
	}
	from := make([][][]stretch, len(r.all)) // by the machine that rows go to, then by the one that they come from
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
			if from[i] = append(from[i], all); len(all) > 0 {
				behind(x.Stream.Dev, y.Stream) // here, before y's queue has copies of its own, for which x need not wait
			}
		}
		if size > 0 {
			at, err := x.Packed.Alloc(size)
			if errors.Is(err, kernels.ErrMemory) {
				short.Store(true)
				return
			}
			device.Check(err)
			to[i] = at
		}
	})
	if short.Load() {
		for i, x := range r.all { // nothing is enqueued there yet
			x.Packed.Free(to[i])
		}
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

// dealPlaces returns the shares for which the fewest planes of rows have to move, and how many these are. Among equal ones it takes the
// shares with the most bits above (smallest shift). The lowest `cut` bits of a place number the parts of a row that was cut
// (open.Shorten). Their variables are bound last, when the tables must be on one machine already, so none of them may be above the bits
// that name the machine: shift + log2(machines) ≥ cut.
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

// stretch is a run of rows that lie one behind the other in one allocation, so that they are one copy.
type stretch struct {
	from  kernels.Ptr
	bytes int
	rows  []int
}

// stretches divides the rows of a list that are to move into stretches, in the order of the list. Rows of zeros are left out: they need
// no copy.
func stretches(list []open.ByteRow, moves func(row int) bool, pitch int, extents device.Extents) []stretch {
	var all []stretch
	var next, end kernels.Ptr // where the last stretch ends, and where its allocation ends
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

// splitTables are the tables that rows fold to, and the functional on them, divided among machines:
// each has the places that are its own (shares). They serve the rounds over the variables above the
// bits that name the machine (shares.above). After these rounds each machine has one contiguous part
// of the tables, and the leader collects them (gather). If a machine fails, the leader makes all of the
// tables itself, and they are one part from then on (fold).
type splitTables struct {
	r     *sharedRows
	point []field.QM31   // the challenges that variables have been bound to so far
	parts []*open.Tables // by machine; one part alone after a machine has failed
}

// foldSplit folds the rows at a point of their first variables, and makes the functional on the result,
// each machine at its own places. It returns for how many rounds the tables are split.
func (r *sharedRows) foldSplit(ctx context.Context, point []field.QM31) (s *splitTables, rounds int) {
	dealt, coefs := r.shares, poly.EqTable(point)
	s, rounds = &splitTables{r: r, point: slices.Clone(point), parts: make([]*open.Tables, dealt.machines)}, dealt.above()
	failed := attempt(func() {
		own := dealt.n << r.RowVars / dealt.machines // elements of each
		r.together(ctx, func(i int, x *open.Rows) {
			room := own
			if i == 0 { // the leader also needs room for all parts together, after the rounds
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

// fold makes all of the tables on the leader, bound to all challenges so far, after an error of another machine.
func (s *splitTables) fold(failed *device.Error) {
	s.r.takeBack(failed)
	if own := s.parts[0]; own != nil {
		s.r.Mem.Free(own.F)
		s.r.Mem.Free(own.Q)
	}
	s.parts = []*open.Tables{s.r.fold(context.Background(), s.point)}
}

// withParts calls f, which works on all parts. If another machine fails in it, the leader makes the tables itself, as one part, and f
// is called again.
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
	for _, t := range s.parts { // enqueues nothing, so it cannot fail: the round before has applied the pending challenge
		t.Bind(r)
	}
	s.point = append(s.point, r)
}

// gather copies the parts to the leader, after the last round of splitTables, and returns the whole tables.
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

package peers

import (
	"context"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/open"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// splitTables are tables of which each machine has the places that are its own (shares), for as many
// rounds as bind variables that are before those that say whose a place is. Then each has one segment
// of the tables, and the first one takes all.
type splitTables struct {
	r     *sharedRows
	coefs []field.QM31 // with which rows have been folded
	q     *whir.Functional
	parts []*open.Tables // by machine
	left  int            // rounds
	bound []field.QM31
	whole *open.Tables // nil until they are the first machine's
}

// foldSplit makes what long rows, as many as there are weights, fold to, and the functional on that,
// each machine at its own places.
func (r *sharedRows) foldSplit(ctx context.Context, coefs []field.QM31, q *whir.Functional) *splitTables {
	s := &splitTables{r: r, coefs: coefs, q: q}
	s.attempt(func() {
		s.left = r.shares.above()
		s.parts = make([]*open.Tables, r.shares.machines)
		own := r.shares.n << r.RowVars / r.shares.machines // elements of each
		fold := func(i int, x *open.Rows, room int) {
			places := r.shares.places(i)
			t := &open.Tables{Stream: x.Stream, Mem: x.Mem, N: own, F: device.NewArray[field.QM31](x.Mem, room)}
			t.Q = device.NewArray[field.QM31](x.Mem, room)
			x.FoldRows(t.F, coefs, places)
			x.FoldFunctional(t.Q, coefs, q, r.shares.n, places)
			s.parts[i] = t
		}
		// The first machine has room for all that the rounds leave.
		room := max(own, r.shares.n<<r.RowVars>>s.left)
		r.together(ctx, func() { fold(0, r.Rows, room) }, func(i int, x *open.Rows) { fold(i+1, x, own) })
	})
	s.gather()
	return s
}

// attempt does something with the parts of all machines. If another one fails all rows come to the
// first, which makes the tables by itself.
func (s *splitTables) attempt(f func()) {
	_, failed := device.Attempt(func() struct{} { f(); return struct{}{} })
	if failed == nil {
		return
	}
	if !s.r.leader.drop(failed) {
		device.Check(failed)
	}
	s.r.takeBack()
	if own := s.parts[0]; own != nil {
		s.r.Mem.Free(own.F)
		s.r.Mem.Free(own.Q)
	}
	s.whole = s.r.fold(context.Background(), s.coefs, s.q)
	for _, r := range s.bound {
		s.whole.Bind(r)
	}
}

// round returns the sums of the next round.
func (s *splitTables) round(ctx context.Context) (total whir.Sums) {
	if s.whole == nil {
		s.attempt(func() {
			sums := make([]whir.Sums, len(s.parts))
			s.r.together(ctx, func() { sums[0] = s.parts[0].Round() }, func(i int, _ *open.Rows) { sums[i+1] = s.parts[i+1].Round() })
			total = whir.Sums{}
			for _, x := range sums {
				total = whir.Sums{Zero: total.Zero.Add(x.Zero), Top: total.Top.Add(x.Top)}
			}
		})
	}
	if s.whole != nil {
		return s.whole.Round()
	}
	return total
}

// bind binds the first variable.
func (s *splitTables) bind(r field.QM31) {
	if s.whole != nil {
		s.whole.Bind(r)
		return
	}
	for _, t := range s.parts { // which enqueues nothing, as a round has come before
		t.Bind(r)
	}
	s.bound = append(s.bound, r)
	s.left--
	s.gather()
}

// gather brings the parts to the first machine once no rounds are left for them.
func (s *splitTables) gather() {
	if s.left > 0 || s.whole != nil {
		return
	}
	s.attempt(func() {
		r := s.r
		r.together(context.Background(), s.parts[0].Bound, func(i int, _ *open.Rows) { s.parts[i+1].Bound() })
		own := s.parts[0]
		for i, x := range r.others {
			t := s.parts[i+1]
			behind(r.Mem, x.Stream)
			bring(r.Mem, kernels.At[field.QM31](own.F, (i+1)*own.N), x.Stream, t.F, t.N*device.ElementBytes)
			bring(r.Mem, kernels.At[field.QM31](own.Q, (i+1)*own.N), x.Stream, t.Q, t.N*device.ElementBytes)
		}
		device.Check(r.Mem.Sync())
		for i, x := range r.others {
			x.Mem.Free(s.parts[i+1].F)
			x.Mem.Free(s.parts[i+1].Q)
		}
		s.whole = &open.Tables{Stream: r.Stream, Mem: r.Mem, Code: r.Code, F: own.F, Q: own.Q, N: own.N * len(s.parts)}
	})
}

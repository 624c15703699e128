package cuda

import (
	"context"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// splitTables are tables of which each machine has the places that are its own (shares), for as many
// rounds as bind variables that are before those that say whose a place is. Then each has one stretch
// of the tables, and the first one takes all.
type splitTables struct {
	r     *sharedRows
	coefs []field.QM31 // with which rows have been folded
	q     *whir.Functional
	parts []*tables // by machine
	left  int       // rounds
	bound []field.QM31
	whole *tables // nil until they are the first machine's
}

// foldSplit makes what long rows, as many as there are weights, fold to, and the functional on that,
// each machine at its own places.
func (r *sharedRows) foldSplit(ctx context.Context, coefs []field.QM31, q *whir.Functional) *splitTables {
	s := &splitTables{r: r, coefs: coefs, q: q}
	s.attempt(func() {
		s.left = r.shares.above()
		s.parts = make([]*tables, r.shares.machines)
		own := r.shares.n << r.rowVars / r.shares.machines // elements of each
		fold := func(i int, x *rows, room int) {
			places := r.shares.places(i)
			t := &tables{b: x.b, a: x.a, n: own, f: newArray[field.QM31](x.a, room)}
			t.q = newArray[field.QM31](x.a, room)
			x.foldRows(t.f, coefs, places)
			x.foldFunctional(t.q, coefs, q, r.shares.n, places)
			s.parts[i] = t
		}
		// The first machine has room for all that the rounds leave.
		room := max(own, r.shares.n<<r.rowVars>>s.left)
		r.together(ctx, func() { fold(0, r.rows, room) }, func(i int, x *rows) { fold(i+1, x, own) })
	})
	s.gather()
	return s
}

// attempt does something with the parts of all machines. If another one fails all rows come to the
// first, which makes the tables by itself.
func (s *splitTables) attempt(f func()) {
	_, failed := attempt(func() struct{} { f(); return struct{}{} })
	if failed == nil {
		return
	}
	if !s.r.leader.drop(failed) {
		check(failed)
	}
	s.r.takeBack()
	if own := s.parts[0]; own != nil {
		s.r.a.Free(own.f)
		s.r.a.Free(own.q)
	}
	s.whole = s.r.fold(context.Background(), s.coefs, s.q)
	for _, r := range s.bound {
		s.whole.bind(r)
	}
}

// round returns the sums of the next round.
func (s *splitTables) round(ctx context.Context) (total whir.Sums) {
	if s.whole == nil {
		s.attempt(func() {
			sums := make([]whir.Sums, len(s.parts))
			s.r.together(ctx, func() { sums[0] = s.parts[0].round() }, func(i int, _ *rows) { sums[i+1] = s.parts[i+1].round() })
			total = whir.Sums{}
			for _, x := range sums {
				total = whir.Sums{Zero: total.Zero.Add(x.Zero), Top: total.Top.Add(x.Top)}
			}
		})
	}
	if s.whole != nil {
		return s.whole.round()
	}
	return total
}

// bind binds the first variable.
func (s *splitTables) bind(r field.QM31) {
	if s.whole != nil {
		s.whole.bind(r)
		return
	}
	for _, t := range s.parts { // which enqueues nothing, as a round has come before
		t.bind(r)
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
		r.together(context.Background(), s.parts[0].bound, func(i int, _ *rows) { s.parts[i+1].bound() })
		own := s.parts[0]
		for i, x := range r.others {
			t := s.parts[i+1]
			behind(r.a, x.b)
			bring(r.a, kernels.At[field.QM31](own.f, (i+1)*own.n), x.b, t.f, t.n*elementBytes)
			bring(r.a, kernels.At[field.QM31](own.q, (i+1)*own.n), x.b, t.q, t.n*elementBytes)
		}
		check(r.a.Sync())
		for i, x := range r.others {
			x.a.Free(s.parts[i+1].f)
			x.a.Free(s.parts[i+1].q)
		}
		s.whole = &tables{b: r.b, a: r.a, code: r.code, f: own.f, q: own.q, n: own.n * len(s.parts)}
	})
}

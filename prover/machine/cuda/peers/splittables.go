package peers

import (
	"context"

	"github.com/prove-model/prove-model/prover/machine/cuda/open"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// splitTables are tables of which each machine has the places that are its own (shares), for as many
// rounds as bind variables that are before those that say whose a place is. Then each has one segment
// of the tables, and the first one takes all.
type splitTables struct {
	r     *sharedRows
	coefs []field.QM31   // with which rows have been folded
	parts []*open.Tables // by machine
	bound []field.QM31
	whole *open.Tables // nil until they are the first machine's
}

// foldSplit makes what long rows, as many as there are weights, fold to, and the functional on that,
// each machine at its own places. It returns for how many rounds the tables are split.
func (r *sharedRows) foldSplit(ctx context.Context, coefs []field.QM31) (s *splitTables, rounds int) {
	dealt := r.shares
	s, rounds = &splitTables{r: r, coefs: coefs, parts: make([]*open.Tables, dealt.machines)}, dealt.above()
	s.attempt(func() {
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
	return s, rounds
}

// attempt does something with the parts of all machines. If another one fails all rows come to the
// first, which makes the tables by itself.
func (s *splitTables) attempt(f func()) {
	failed := attempt(f)
	if failed == nil {
		return
	}
	s.r.takeBack(failed)
	if own := s.parts[0]; own != nil {
		s.r.Mem.Free(own.F)
		s.r.Mem.Free(own.Q)
	}
	s.whole = s.r.fold(context.Background(), s.coefs)
	for _, r := range s.bound {
		s.whole.Bind(r)
	}
}

// Round returns the sums of the next round.
func (s *splitTables) Round() (total whir.Sums) {
	if s.whole == nil {
		sums := make([]whir.Sums, len(s.parts))
		s.attempt(func() {
			s.r.together(context.Background(), func(i int, _ *open.Rows) { sums[i] = s.parts[i].Round() })
		})
		for _, x := range sums {
			total = whir.Sums{Zero: total.Zero.Add(x.Zero), Top: total.Top.Add(x.Top)}
		}
	}
	if s.whole != nil {
		return s.whole.Round()
	}
	return total
}

// Bind binds the first variable.
func (s *splitTables) Bind(r field.QM31) {
	if s.whole != nil {
		s.whole.Bind(r)
		return
	}
	for _, t := range s.parts { // which enqueues nothing, as a round has come before
		t.Bind(r)
	}
	s.bound = append(s.bound, r)
}

// gather brings the parts to the first machine, once no rounds are left for them.
func (s *splitTables) gather() *open.Tables {
	if s.whole == nil {
		s.attempt(func() {
			f, q := make([]sumOf, len(s.parts)), make([]sumOf, len(s.parts))
			s.r.together(context.Background(), func(i int, _ *open.Rows) {
				t := s.parts[i]
				t.Bound()
				run := []elementRun{{i * t.N, t.N}}
				f[i], q[i] = sumOf{t.F, run}, sumOf{t.Q, run}
			})
			own := s.parts[0]
			s.r.gather(own.F, f, false)
			s.r.gather(own.Q, q, false)
			own.N *= len(s.parts)
			s.whole = own
		})
	}
	return s.whole
}

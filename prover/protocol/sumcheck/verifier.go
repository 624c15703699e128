package sumcheck

import (
	"errors"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/math/transcript"
)

// ErrFinal is the reason Verify fails with: the evaluations sent at the end do
// not add up to the running claim.
var ErrFinal = errors.New("sumcheck: the final evaluations do not give the running claim")

// Verify checks the sums of the shapes, whose claims and eq points must have been
// absorbed (or follow from what has been), and returns the evaluation claims to
// which they are reduced. On failure it fails r, and the result is meaningless.
//
// A shape with more eq variables than variables is a programmer's error and
// panics.
func Verify(r *transcript.Reader, shapes []Shape) []Final {
	if len(shapes) == 0 {
		return nil
	}
	plan := newSchedule(shapes)
	gamma := powers(r.Challenge(), len(shapes))

	var claim field.QM31
	join := func(round int) {
		for i, s := range shapes {
			if plan.joins(i) == round {
				claim = claim.Add(gamma[i].Mul(s.Claim))
			}
		}
	}
	challenges := make([]field.QM31, plan.rounds)
	for round := range challenges {
		join(round)
		var m message
		m[0], m[2] = r.QM31(), r.QM31()
		if plan.degree(round) == 3 {
			m[3] = r.QM31()
		}
		m.complete(claim)
		challenges[round] = r.Challenge()
		claim = m.at(challenges[round])
	}
	join(plan.rounds)

	finals := make([]Final, len(shapes))
	var sum field.QM31
	for i, s := range shapes {
		f := Final{Point: challenges[plan.joins(i):], A: r.QM31(), B: r.QM31()}
		eq := poly.Eq(s.Eq, f.Point[:len(s.Eq)])
		sum = sum.Add(gamma[i].Mul(eq).Mul(f.A).Mul(f.B))
		finals[i] = f
	}
	if sum != claim {
		r.Fail(ErrFinal)
	}
	return finals
}

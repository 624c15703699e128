package sumcheck

import (
	"context"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/math/transcript"
)

// Tables are the passes over the tables A and B of a batch of instances, in memory
// or on a device: the work on data in the prover's rounds. [Prove] does the rest.
// Results are a function of the tables and of the calls so far. Tables are used by
// one goroutine.
type Tables interface {
	// Round returns the sums of the instances that take part in the round
	// (an instance of n variables in the last n), by instance; nobody reads those of others.
	// Before that, in the tables of instances that took part in the previous round,
	// it binds the variable of that round to r. Rounds come in order, from 0 on.
	Round(ctx context.Context, round int, r field.QM31) ([]Sums, error)
	// Ends binds the last round's variable to r and returns, for every instance, the one
	// value that is left of its table A and that of B. There may have been no rounds.
	Ends(ctx context.Context, r field.QM31) ([][2]field.QM31, error)
	// Close gives back the memory of the tables. It may come at any time.
	Close()
}

// Sums are what a round needs to know of q(X) = Σ_x w(x)·A(X,x)·B(X,x), where w is eq
// at the instance's eq coordinates behind the round's own. First is q(0), and Top the
// leading coefficient; q(1) follows from the instance's claim. If the round's own eq
// coordinate is zero, the claim is q(0) and says nothing about q(1). Then First is q(1).
type Sums struct{ First, Top field.QM31 }

// Prove proves the claims of the shapes over tables of these shapes, and returns
// the evaluations to which they are reduced. The claims and eq points must have
// been absorbed, or follow from what has been. The tables cannot be used
// afterwards. An error comes from the tables; what was written by then is not a
// proof.
//
// A shape with more eq variables than variables is a programmer's error and
// panics. A false claim gives a proof that Verify rejects.
func Prove(ctx context.Context, w *transcript.Writer, shapes []Shape, tables Tables) (_ []Final, err error) {
	defer must.Catch(&err)
	if len(shapes) == 0 {
		return nil, nil
	}
	plan := newSchedule(shapes)
	gamma := field.Powers(field.One, w.Challenge(), len(shapes))
	states := newStates(shapes, gamma)

	var claim, last field.QM31 // the running claim, and the challenge of the round before
	challenges := make([]field.QM31, plan.rounds)
	for round := range challenges {
		var m message
		sums := must.Get(tables.Round(ctx, round, last))
		for i, s := range states {
			if plan.joins[i] == round {
				claim = claim.Add(s.scale.Mul(s.claim))
			}
			if plan.joins[i] <= round {
				s.finish(sums[i])
				s.addTo(&m)
			}
		}
		w.SendQM31(m.sent(plan.degrees[round])...)
		m.complete(claim)
		last = w.Challenge()
		challenges[round] = last
		claim = m.at(last)
		for i, s := range states {
			if plan.joins[i] <= round {
				s.bind(last)
			}
		}
	}

	ends := must.Get(tables.Ends(ctx, last))
	finals := make([]Final, len(shapes))
	for i, end := range ends {
		finals[i] = Final{Point: challenges[plan.joins[i]:], A: transcript.Known(end[0]), B: transcript.Known(end[1])}
		if w.SendQM31(end[0]); !w.Masked() || shapes[i].B == nil {
			w.SendQM31(end[1])
		}
	}
	return finals, nil
}

// A state is the state of an instance between rounds, without its tables.
type state struct {
	claim   field.QM31   // Σ_x eq(unbound)·A·B
	scale   field.QM31   // γ^i · Π eq over the bound eq variables
	eq, inv []field.QM31 // unbound eq coordinates, and their inverses
	q       poly.Quadratic
}

// newStates prepares the instances. All inverses take one batch.
func newStates(shapes []Shape, gamma []field.QM31) []*state {
	var inv []field.QM31
	for _, s := range shapes {
		inv = append(inv, s.Eq...)
	}
	field.BatchInvert(inv)
	states := make([]*state, len(shapes))
	for i, s := range shapes {
		states[i] = &state{claim: s.Claim.Plain(), scale: gamma[i], eq: s.Eq, inv: inv[:len(s.Eq)]}
		inv = inv[len(s.Eq):]
	}
	return states
}

// finish derives q from the round's sums and the instance's claim. The claim is
// (1−e)·q(0) + e·q(1) for the round's eq coordinate e, or q(0) + q(1) if no eq coordinate is
// left.
func (s *state) finish(sums Sums) {
	var q0, q1 field.QM31 // q(0), q(1)
	switch {
	case len(s.eq) == 0:
		q0 = sums.First
		q1 = s.claim.Sub(q0)
	case s.eq[0].IsZero():
		q0, q1 = s.claim, sums.First
	default:
		q0 = sums.First
		q1 = s.claim.Sub(q0).Mul(s.inv[0]).Add(q0)
	}
	s.q = poly.Quadratic{q0, q1.Sub(q0).Sub(sums.Top), sums.Top}
}

// addTo adds the instance's round polynomial scale·eq(e, X)·q(X) to m.
func (s *state) addTo(m *message) {
	q := s.q
	if len(s.eq) == 0 {
		for k := range q {
			m[k] = m[k].Add(s.scale.Mul(q[k]))
		}
		return
	}
	// eq(e, X) = (1−e) + (2e−1)·X
	low := s.scale.Sub(s.scale.Mul(s.eq[0]))
	slope := s.scale.Sub(low.Double())
	for k := range q {
		m[k] = m[k].Add(low.Mul(q[k]))
		m[k+1] = m[k+1].Add(slope.Mul(q[k]))
	}
}

// bind moves the instance on to the next round with the challenge r.
func (s *state) bind(r field.QM31) {
	s.claim = s.q.At(r)
	if len(s.eq) > 0 {
		s.scale = s.scale.Mul(eqFactor(s.eq[0], r))
		s.eq, s.inv = s.eq[1:], s.inv[1:]
	}
}

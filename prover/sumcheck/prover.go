package sumcheck

import (
	"fmt"
	"math/bits"

	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/poly"
	"github.com/prove-model/prove-model/prover/transcript"
)

// Prove proves the instances' claims and returns the evaluations they come
// down to. The claims and eq points must have been absorbed, or follow from
// what has been. The tables of the instances are overwritten.
//
// Tables that are not of one power-of-two length are a programmer's error and
// panic. A false claim gives a proof that Verify rejects.
func Prove(w *transcript.Writer, insts []Instance) []Final {
	if len(insts) == 0 {
		return nil
	}
	vars, eqVars := make([]int, len(insts)), make([]int, len(insts))
	for i, in := range insts {
		if len(in.A) != len(in.B) || bits.OnesCount(uint(len(in.A))) != 1 {
			panic(fmt.Sprintf("sumcheck: tables of %d and %d entries", len(in.A), len(in.B)))
		}
		vars[i], eqVars[i] = bits.TrailingZeros(uint(len(in.A))), len(in.Eq)
	}
	plan := newSchedule(vars, eqVars)
	gamma := powers(w.Challenge(), len(insts))
	states := newStates(insts, gamma)

	var claim field.QM31
	challenges := make([]field.QM31, plan.rounds)
	var active []*state
	for round := range challenges {
		for i, s := range states {
			if plan.joins(i) == round {
				claim = claim.Add(s.scale.Mul(s.claim))
				active = append(active, s)
			}
		}
		var previous field.QM31
		if round > 0 {
			previous = challenges[round-1]
		}
		runRound(active, previous)
		var m message
		for _, s := range active {
			s.addTo(&m)
		}
		w.SendQM31(m.sent(plan.degree(round))...)
		m.complete(claim)
		challenges[round] = w.Challenge()
		claim = m.at(challenges[round])
		for _, s := range active {
			s.bind(challenges[round])
		}
	}

	finals := make([]Final, len(insts))
	for i, s := range states {
		f := Final{Point: challenges[plan.joins(i):], A: s.a[0], B: s.b[0]}
		if len(s.a) == 2 {
			// The last variable is bound here; earlier ones in the round after.
			last := challenges[plan.rounds-1]
			f.A, f.B = lerp(s.a[0], s.a[1], last), lerp(s.b[0], s.b[1], last)
		}
		w.SendQM31(f.A, f.B)
		finals[i] = f
	}
	return finals
}

// lerp returns a + r·(b−a).
func lerp(a, b, r field.QM31) field.QM31 { return a.Add(r.Mul(b.Sub(a))) }

// A state is an instance on its way through the rounds.
type state struct {
	a, b    []field.QM31 // still with the previous round's variable in it if bound is set
	bound   bool         // a challenge is waiting to be folded in
	claim   field.QM31   // Σ_x eq(unbound)·A·B
	scale   field.QM31   // γ^i · Π eq over the bound eq variables
	eq, inv []field.QM31 // unbound eq coordinates, and their inverses
	weight  poly.SplitEq // of the variables after this round's
	q       poly.Quadratic
}

// newStates prepares the instances. All inverses take one batch.
func newStates(insts []Instance, gamma []field.QM31) []*state {
	var inv []field.QM31
	for _, in := range insts {
		inv = append(inv, in.Eq...)
	}
	field.BatchInvert(inv)
	states := make([]*state, len(insts))
	for i, in := range insts {
		s := &state{a: in.A, b: in.B, claim: in.Claim, scale: gamma[i], eq: in.Eq}
		s.inv, inv = inv[:len(in.Eq)], inv[len(in.Eq):]
		vars := bits.TrailingZeros(uint(len(in.A)))
		s.weight = poly.NewSplitEq(in.Eq, vars-len(in.Eq))
		if vars > 0 {
			s.weight.DropFirst()
		}
		states[i] = s
	}
	return states
}

// pairs returns the number of terms of the round's sums: half the entries of
// a table once the waiting challenge is folded in.
func (s *state) pairs() int {
	if s.bound {
		return len(s.a) / 4
	}
	return len(s.a) / 2
}

// flipped says that the sums are to be taken with the halves exchanged, which
// gives q(1) in place of q(0): where the eq coordinate is 0, the claim is q(0)
// and says nothing about q(1).
func (s *state) flipped() bool { return len(s.eq) > 0 && s.eq[0].IsZero() }

// finish derives q from the round's sums and the instance's claim,
// (1−e)·q(0) + e·q(1), or q(0) + q(1) once eq is all bound.
func (s *state) finish(sums sums) {
	var q0, q1 field.QM31 // q(0), q(1)
	switch {
	case len(s.eq) == 0:
		q0 = sums.first
		q1 = s.claim.Sub(q0)
	case s.flipped():
		q0, q1 = s.claim, sums.first
	default:
		q0 = sums.first
		q1 = s.claim.Sub(q0).Mul(s.inv[0]).Add(q0)
	}
	s.q = poly.Quadratic{q0, q1.Sub(q0).Sub(sums.top), sums.top}
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

// bind moves the instance on to the next round with the challenge r. The
// tables follow in that round's pass.
func (s *state) bind(r field.QM31) {
	s.claim = s.q.At(r)
	if len(s.eq) > 0 {
		s.scale = s.scale.Mul(eqFactor(s.eq[0], r))
		s.eq, s.inv = s.eq[1:], s.inv[1:]
	}
	s.bound = true
	if len(s.a) > 2 {
		s.weight.DropFirst()
	}
}

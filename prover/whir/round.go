package whir

import (
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/transcript"
)

// A round of a sumcheck sends the values at 0 and 2 of a polynomial of degree 2
// whose values at 0 and 1 add up to the claim; the next claim is its value at
// the challenge.

// sendRound is the prover's side of a round.
func sendRound(w *transcript.Writer, s0, s2 field.QM31, grind int, claim field.QM31) (r, next field.QM31) {
	w.SendQM31(s0, s2)
	w.Grind(grind)
	r = w.Challenge()
	return r, roundValue(s0, s2, claim, r)
}

// receiveRound is the verifier's side.
func receiveRound(t *transcript.Reader, grind int, claim field.QM31) (r, next field.QM31) {
	s0, s2 := t.QM31(), t.QM31()
	t.CheckGrind(grind)
	r = t.Challenge()
	return r, roundValue(s0, s2, claim, r)
}

// roundValue interpolates the polynomial through (0, s0), (1, claim − s0) and
// (2, s2) at r.
func roundValue(s0, s2, claim, r field.QM31) field.QM31 {
	s1 := claim.Sub(s0)
	// Newton's form: s0 + r·(s1 − s0) + r(r−1)/2·(s2 − 2s1 + s0).
	d1 := s1.Sub(s0)
	d2 := s2.Sub(s1).Sub(d1)
	half := field.M31(1).Div2Exp(1)
	c := r.Mul(r.Sub(field.One)).MulM31(half)
	return s0.Add(r.Mul(d1)).Add(c.Mul(d2))
}

// receiveRounds runs n rounds.
func receiveRounds(t *transcript.Reader, n, grind int, claim field.QM31) (point []field.QM31, next field.QM31) {
	point = make([]field.QM31, n)
	for i := range point {
		point[i], claim = receiveRound(t, grind, claim)
	}
	return point, claim
}

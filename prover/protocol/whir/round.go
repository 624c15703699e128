package whir

import (
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/transcript"
)

// A round of a sumcheck sends a polynomial of degree 2 by its value at 0 and its
// leading coefficient. Its values at 0 and 1 add up to the claim; the next claim
// is its value at the challenge.

// receiveRound is the verifier's side of a round.
func receiveRound(t *transcript.Reader, grind int, claim field.QM31) (r, next field.QM31) {
	zero, top := t.QM31(), t.QM31()
	t.CheckGrind(grind)
	r = t.Challenge()
	return r, field.RoundValue(zero, top, claim, r)
}

// receiveRounds runs n rounds.
func receiveRounds(t *transcript.Reader, n, grind int, claim field.QM31) (point []field.QM31, next field.QM31) {
	point = make([]field.QM31, n)
	for i := range point {
		point[i], claim = receiveRound(t, grind, claim)
	}
	return point, claim
}

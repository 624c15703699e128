package sumcheck

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/transcript"
)

// An Instance is the witness of a claim in memory:
// Σ_{x∈{0,1}^n} eq(Eq, x_0 … x_{len(Eq)−1})·A(x)·B(x).
//
// len(A) = len(B) = 2^n and len(Eq) ≤ n; no Eq means the plain sum of
// products.
type Instance struct {
	Eq   []field.QM31
	A, B []field.QM31
}

// numVars checks the tables and returns their number of variables.
func (in *Instance) numVars() int {
	if len(in.A) != len(in.B) || bits.OnesCount(uint(len(in.A))) != 1 {
		panic(fmt.Sprintf("sumcheck: tables of %d and %d entries", len(in.A), len(in.B)))
	}
	return bits.TrailingZeros(uint(len(in.A)))
}

// A Shape is what the verifier knows of an instance: the claim, the number of
// variables and the point of the eq factor, len(Eq) ≤ NumVars.
type Shape struct {
	Claim   transcript.Form
	NumVars int
	Eq      []field.QM31
	// B, if it is not nil, returns B~(point), for a B that the verifier can evaluate. Then
	// this value is not sent in a masked transcript.
	B func(point []field.QM31) field.QM31
}

// A Final is the pair of claims to which an instance is reduced: A~(Point) = A and
// B~(Point) = B. The verifier still has to check them.
type Final struct {
	Point []field.QM31
	A, B  transcript.Form
}

// schedule says which instances take part in which round. It depends on their
// numbers of variables and of eq variables only, so that prover and verifier
// derive the same.
type schedule struct {
	rounds int
	// joins[i] is the first round in which instance i takes part. It equals rounds if the instance has no variables.
	joins []int
	// degrees[k] is the degree of the combined polynomial of round k: three if the round's variable is an eq variable of some
	// instance, otherwise two.
	degrees []int
}

// newSchedule returns the schedule for instances of these shapes.
func newSchedule(shapes []Shape) schedule {
	s := schedule{joins: make([]int, len(shapes))}
	for i := range shapes {
		own := &shapes[i]
		if len(own.Eq) > own.NumVars {
			panic(fmt.Sprintf("sumcheck: %d eq variables in an instance of %d", len(own.Eq), own.NumVars))
		}
		s.rounds = max(s.rounds, own.NumVars)
	}
	s.degrees = slices.Repeat([]int{2}, s.rounds)
	for i := range shapes {
		s.joins[i] = s.rounds - shapes[i].NumVars
		for j := range shapes[i].Eq {
			s.degrees[s.joins[i]+j] = 3
		}
	}
	return s
}

// A message is a round polynomial c_0 + c_1·X + c_2·X² + c_3·X³. c_1 is not
// sent: H(0) + H(1) = claim gives it.
type message [4]field.QM31

// complete sets c_1 so that H(0) + H(1) is the running claim.
func (m *message) complete(claim field.QM31) {
	m[1] = claim.Sub(m[0].Double()).Sub(m[2]).Sub(m[3])
}

// at returns H(x).
func (m *message) at(x field.QM31) field.QM31 {
	return m[3].Mul(x).Add(m[2]).Mul(x).Add(m[1]).Mul(x).Add(m[0])
}

// sent returns the coefficients that are sent for a polynomial of this degree.
func (m *message) sent(degree int) []field.QM31 {
	if degree == 2 {
		return []field.QM31{m[0], m[2]}
	}
	return []field.QM31{m[0], m[2], m[3]}
}

// eqFactor returns eq(e, r) for one coordinate.
func eqFactor(e, r field.QM31) field.QM31 {
	er := e.Mul(r)
	return er.Double().Sub(e).Sub(r).AddM31(1)
}

package colsum

import (
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/transcript"
)

// An End is the point where the sum ends, and the value that is left there.
type End struct {
	Point []field.QM31
	Value transcript.Form
}

// Verify reads the rounds of the sum over vars variables, whose value is claimed to be
// claim. The caller checks the value that is left against the columns (package comment).
func Verify(r *transcript.Reader, vars int, claim transcript.Form) End {
	point := make([]field.QM31, vars)
	for i := range point {
		zero, top := r.Form(), r.Form()
		x := r.Challenge()
		// The polynomial whose values at 0 and 1 add up to the claim: zero + (claim − 2·zero − top)·X + top·X².
		claim = claim.Mul(x).Add(zero.Mul(field.One.Sub(x.Double()))).Add(top.Mul(x.Square().Sub(x)))
		point[i] = x
	}
	return End{point, claim}
}

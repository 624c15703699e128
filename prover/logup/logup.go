package logup

import (
	"github.com/prove-model/prove-model/prover/field"
)

// fractions are the values of a layer's two halves at one point: the
// summands' numerators and denominators.
type fractions struct{ n0, n1, d0, d1 field.QM31 }

// sum returns the numerator and the denominator of n0/d0 + n1/d1.
func (f *fractions) sum() (num, den field.QM31) {
	return f.n0.Mul(f.d1).Add(f.n1.Mul(f.d0)), f.d0.Mul(f.d1)
}

// at merges the halves at variable 0 = mu.
func (f *fractions) at(mu field.QM31) (num, den field.QM31) {
	return f.n0.Add(mu.Mul(f.n1.Sub(f.n0))), f.d0.Add(mu.Mul(f.d1.Sub(f.d0)))
}

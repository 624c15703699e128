package logup

import (
	"github.com/prove-model/prove-model/prover/math/field"
)

// Fractions are the values of a layer's two halves at one point: the
// summands' numerators and denominators.
type Fractions struct{ N0, N1, D0, D1 field.QM31 }

// sum returns the numerator and the denominator of n0/d0 + n1/d1.
func (f *Fractions) sum() (num, den field.QM31) {
	return f.N0.Mul(f.D1).Add(f.N1.Mul(f.D0)), f.D0.Mul(f.D1)
}

// at merges the halves at variable 0 = mu.
func (f *Fractions) at(mu field.QM31) (num, den field.QM31) {
	return f.N0.Add(mu.Mul(f.N1.Sub(f.N0))), f.D0.Add(mu.Mul(f.D1.Sub(f.D0)))
}

package logup

import (
	"errors"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/math/transcript"
)

// Reasons Verify fails with.
var (
	ErrSum         = errors.New("logup: the fractions do not add up to zero")
	ErrDenominator = errors.New("logup: a denominator is zero")
	ErrLayer       = errors.New("logup: a layer does not follow from the one below")
)

// Verify checks that 2^numVars fractions, committed to before, add up to zero with
// no zero among the denominators. It returns the evaluations to which the sum is
// reduced; the caller checks them. Fractions that the prover left out count as 0/1
// there. On failure it fails r, and the result is meaningless.
func Verify(r *transcript.Reader, numVars int) End {
	if numVars == 0 {
		num, den := r.QM31(), r.QM31()
		checkRoot(r, num, den)
		return End{nil, num, den}
	}
	f := readFractions(r)
	num, den := f.sum()
	checkRoot(r, num, den)
	var point []field.QM31
	for k := 1; ; k++ {
		mu := r.Challenge()
		num, den = f.at(mu)
		point = append([]field.QM31{mu}, point...)
		if k == numVars {
			return End{point, num, den}
		}
		point, f = verifyLayer(r, point, num, den)
	}
}

func checkRoot(r *transcript.Reader, num, den field.QM31) {
	if !num.IsZero() {
		r.Fail(ErrSum)
	}
	if den.IsZero() {
		r.Fail(ErrDenominator)
	}
}

func readFractions(r *transcript.Reader) Fractions {
	return Fractions{N0: r.QM31(), N1: r.QM31(), D0: r.QM31(), D1: r.QM31()}
}

// verifyLayer reduces the claims num, den on a layer at the point eq to the
// halves of the layer below at the point it returns.
func verifyLayer(r *transcript.Reader, eq []field.QM31, num, den field.QM31) ([]field.QM31, Fractions) {
	lambda := r.Challenge()
	claim := num.Add(lambda.Mul(den))
	point := make([]field.QM31, len(eq))
	for j := range point {
		var q poly.Quadratic
		q[1], q[2] = r.QM31(), r.QM31()
		q[0] = claim.Sub(eq[j].Mul(q[1].Add(q[2])))
		point[j] = r.Challenge()
		claim = q.At(point[j])
	}
	f := readFractions(r)
	n, d := f.sum()
	if n.Add(lambda.Mul(d)) != claim {
		r.Fail(ErrLayer)
	}
	return point, f
}

package logup

import (
	"errors"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/transcript"
)

// Reasons Verify fails with.
var (
	ErrSum         = errors.New("logup: the fractions do not add up to zero")
	ErrDenominator = errors.New("logup: a denominator is zero")
	ErrLayer       = errors.New("logup: a layer does not follow from the one below")
)

// Verify checks that 2^numVars fractions, committed to before, add up to zero and that
// no denominator is zero. It returns the evaluations to which the sum is
// reduced; the caller checks them. In these, fractions beyond those of the prover count
// as 0/1. On failure it fails r, and the result is meaningless. In a masked transcript,
// checks that need the values themselves become equations on the reader's tape.
func Verify(r *transcript.Reader, numVars int) End {
	if numVars == 0 {
		num, den := r.Form(), r.Form()
		r.Zero(num, ErrSum)
		notZero(r, den)
		return End{nil, num, den}
	}
	f := readFractions(r)
	num, den := f.sum()
	r.Zero(num, ErrSum)
	if r.Masked() { // the denominator is sent too: notZero multiplies it, and a Product takes elements that were received
		sent := r.Form()
		r.Zero(sent.Sub(den), ErrDenominator)
		den = sent
	}
	notZero(r, den)
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

// notZero checks that a denominator is not zero. In a masked transcript its inverse is sent.
func notZero(r *transcript.Reader, den transcript.Form) {
	if r.Masked() {
		r.Zero(den.Product(r.Form()).AddKnown(field.One.Neg()), ErrDenominator)
	} else if den.Plain().IsZero() {
		r.Fail(ErrDenominator)
	}
}

// forms are Fractions as a verifier sees them.
type forms struct{ n0, n1, d0, d1 transcript.Form }

func (f *Fractions) forms() forms {
	return forms{transcript.Known(f.N0), transcript.Known(f.N1), transcript.Known(f.D0), transcript.Known(f.D1)}
}

func readFractions(r *transcript.Reader) forms {
	return forms{r.Form(), r.Form(), r.Form(), r.Form()}
}

// sum returns the numerator and the denominator of n0/d0 + n1/d1.
func (f *forms) sum() (num, den transcript.Form) {
	return f.n0.Product(f.d1).Add(f.n1.Product(f.d0)), f.d0.Product(f.d1)
}

// at returns the numerator and the denominator with variable 0, which tells the halves apart, set to mu.
func (f *forms) at(mu field.QM31) (num, den transcript.Form) {
	return f.n0.Add(f.n1.Sub(f.n0).Mul(mu)), f.d0.Add(f.d1.Sub(f.d0).Mul(mu))
}

// verifyLayer reduces the claims num and den on a layer at the point eq to claims on the
// two halves of the layer below. It returns the point of these and their values.
func verifyLayer(r *transcript.Reader, eq []field.QM31, num, den transcript.Form) ([]field.QM31, forms) {
	lambda := r.Challenge()
	claim := num.Add(den.Mul(lambda))
	point := make([]field.QM31, len(eq))
	for j := range point {
		linear, square := r.Form(), r.Form() // q_1 and q_2; q_0 is the claim − eq[j]·(linear + square)
		x := r.Challenge()
		claim = claim.Add(linear.Mul(x.Sub(eq[j]))).Add(square.Mul(x.Square().Sub(eq[j])))
		point[j] = x
	}
	f := readFractions(r)
	n, d := f.sum()
	r.Zero(n.Add(d.Mul(lambda)).Sub(claim), ErrLayer)
	return point, f
}

package code

import (
	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/field"
)

// PointWeights returns the n factors of evaluation at z: f(z) is the inner
// product of f's table with the weights Π_j t_j(z)^{b_j}. Factor i is t_{n−1−i}(z)
// and belongs to coordinate i of a point, whose coordinate 0 goes with the most
// significant index bit.
func PointWeights(z field.QM31, n int) []field.QM31 {
	w := make([]field.QM31, n)
	for i := n - 1; i >= 0; i-- {
		w[i] = z
		z = z.Square().Double().Sub(field.One)
	}
	return w
}

// WeightEval returns the multilinear extension of the weights with factors w,
// as [PointWeights] gives them, at a point of as many coordinates:
// Π_i (1 − r_i + r_i·w_i).
func WeightEval(w, r []field.QM31) field.QM31 {
	if len(w) != len(r) {
		panic("code: weights and point have different lengths")
	}
	e := field.One
	for i := range w {
		e = e.Mul(field.One.Add(r[i].Mul(w[i].Sub(field.One))))
	}
	return e
}

// WeightTable returns the 2^n weights with n factors w: element b is
// Π_j t_j^{b_j}.
func WeightTable(w []field.QM31) []field.QM31 {
	t := make([]field.QM31, 1<<len(w))
	t[0] = field.One
	for j := range w {
		f := w[len(w)-1-j]
		for b := range 1 << j {
			t[1<<j+b] = t[b].Mul(f)
		}
	}
	return t
}

// evalGrain is the least number of rows of an evaluation that one goroutine handles.
const evalGrain = 16

// EvalAt returns f(z) for the table coeffs, whose length must be a power of
// two.
func EvalAt(coeffs []field.QM31, z field.QM31) field.QM31 {
	n := logLen(len(coeffs))
	w := PointWeights(z, n)
	// Two tables of about the square root of the length instead of one.
	high, low := WeightTable(w[:n/2]), WeightTable(w[n/2:])
	rows := make([]field.QM31, len(high))
	parallel.For(len(rows), evalGrain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			rows[i] = field.Dot(coeffs[i*len(low):(i+1)*len(low)], low)
		}
	})
	return field.Dot(rows, high)
}

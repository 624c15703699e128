package kernels

import "github.com/prove-model/prove-model/prover/math/field"

// A Grid are sums over all x of a product A·B as a polynomial in k variables, of degree two in each:
// 3^k values, those of the first variable at 0, then at 1, then its leading coefficients, each a Grid in
// the other variables.
type Grid []field.QM31

// NewGrid reads one of 27 values from SumcheckThreeRoundsWords words, or the sum of several from as
// many behind each other, which it overwrites.
func NewGrid(words []uint64) Grid {
	sum := words[:SumcheckThreeRoundsWords]
	for part := words[SumcheckThreeRoundsWords:]; len(part) > 0; part = part[SumcheckThreeRoundsWords:] {
		for i := range sum {
			sum[i] += part[i]
		}
	}
	g := make(Grid, SumcheckThreeRoundsWords/SumWords)
	for i := range g {
		g[i] = FromSum(sum[SumWords*i:])
	}
	return g
}

// Values returns the value at 0, the value at 1, and the leading coefficient, of the sum over the other
// variables, weighted with eq in the first len(eq) of them.
func (g Grid) Values(eq []field.QM31) (zero, one, top field.QM31) {
	n := len(g) / 3
	return g[:n].sum(eq), g[n : 2*n].sum(eq), g[2*n:].sum(eq)
}

// sum is over all variables, weighted with eq in the first of them.
func (g Grid) sum(eq []field.QM31) field.QM31 {
	if len(g) == 1 {
		return g[0]
	}
	n := len(g) / 3
	if len(eq) == 0 {
		return g[:n].sum(nil).Add(g[n : 2*n].sum(nil))
	}
	zero, one := g[:n].sum(eq[1:]), g[n:2*n].sum(eq[1:])
	return zero.Add(eq[0].Mul(one.Sub(zero)))
}

// Bind sets the first variable to r. It overwrites g.
func (g Grid) Bind(r field.QM31) Grid {
	n, square := len(g)/3, r.Mul(r)
	for i := range n {
		zero, one, top := g[i], g[n+i], g[2*n+i]
		g[i] = zero.Add(r.Mul(one.Sub(zero).Sub(top))).Add(square.Mul(top))
	}
	return g[:n]
}

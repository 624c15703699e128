package kernels

import "github.com/prove-model/prove-model/prover/math/field"

// A Grid is a polynomial in the next k variables of a sumcheck: the product A·B, summed over all other
// variables. Its degree in each variable is two. It has 3^k values: first those with the first
// variable at 0, then those with it at 1, then the coefficients of its square. Each third is a Grid in
// the other variables.
type Grid []field.QM31

// NewGrid reads a Grid in three variables, 27 values, from SumcheckThreeRoundsWords words. If there
// are several times as many words, it adds up these parts. It overwrites words.
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

// Values sums over all variables but the first, with eq weights in the first len(eq) of these, and
// returns the resulting polynomial in the first variable: its value at 0, its value at 1, and its
// leading coefficient.
func (g Grid) Values(eq []field.QM31) (zero, one, top field.QM31) {
	n := len(g) / 3
	return g[:n].sum(eq), g[n : 2*n].sum(eq), g[2*n:].sum(eq)
}

// sum sums over all variables, with eq weights in the first len(eq) of them.
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

// Bind sets the first variable to r, and returns the Grid in the others. It overwrites g. With values a at 0, b at 1
// and leading coefficient c, the value at r is a + r·(b − a − c) + r²·c.
func (g Grid) Bind(r field.QM31) Grid {
	n, square := len(g)/3, r.Mul(r)
	for i := range n {
		zero, one, top := g[i], g[n+i], g[2*n+i]
		g[i] = zero.Add(r.Mul(one.Sub(zero).Sub(top))).Add(square.Mul(top))
	}
	return g[:n]
}

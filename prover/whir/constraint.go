package whir

import (
	"github.com/prove-model/prove-model/prover/code"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/parallel"
)

// constraints is a batch of claims coef·f(z) = coef·value on one row f, held as
// the functional Σ coef·(weights of evaluation at z). In-domain points, at
// which opened leaves give the value, are in the base field.
type constraints struct {
	base  []baseConstraint
	large []largeConstraint
}

type baseConstraint struct {
	coef field.QM31
	z    field.M31
}

type largeConstraint struct{ coef, z field.QM31 }

// join joins a level's new claims to the running one with the challenge ξ:
// out-of-domain answers with ξ, ξ², …, then the values at the opened positions.
// It returns them as constraints and what they add to the claim.
func join(xi field.QM31, outOfDomain []sample, points []field.M31, values []field.QM31) (c constraints, claim field.QM31) {
	power := xi
	for _, s := range outOfDomain {
		c.large = append(c.large, largeConstraint{power, s.z})
		claim = claim.Add(power.Mul(s.value))
		power = power.Mul(xi)
	}
	for i, z := range points {
		c.base = append(c.base, baseConstraint{power, z})
		claim = claim.Add(power.Mul(values[i]))
		power = power.Mul(xi)
	}
	return c, claim
}

// sample is an out-of-domain point with the claimed value of the row's codeword.
type sample struct{ z, value field.QM31 }

// eval returns the functional's multilinear extension at a point of as many
// coordinates as the row has variables.
func (c *constraints) eval(point []field.QM31) field.QM31 {
	var sum field.QM31
	for _, l := range c.large {
		sum = sum.Add(l.coef.Mul(code.WeightEval(code.PointWeights(l.z, len(point)), point)))
	}
	for _, b := range c.base {
		// WeightEval with factors in the base field.
		e, t := b.coef, b.z
		for j := len(point) - 1; j >= 0; j-- {
			e = e.Mul(point[j].MulM31(t.Sub(1)).AddM31(1))
			t = doubleAngle(t)
		}
		sum = sum.Add(e)
	}
	return sum
}

// doubleAngle returns 2t² − 1, the x-coordinate of twice a point.
func doubleAngle(t field.M31) field.M31 { return t.Square().Double().Sub(1) }

// lowVars is how many index bits the weights' lower table covers: its rows stay
// in the first-level cache while the products of all constraints are added up.
const lowVars = 8

// addTo adds the functional to the table q of 2^n values. The weights of a point
// are the product of a table on the upper index bits and one on the lower, so
// that all constraints together are a matrix product.
func (c *constraints) addTo(q []field.QM31, n int) {
	low := min(n, lowVars)
	lower := make([][]field.M31, len(c.base))
	upper := make([][]field.QM31, len(c.base))
	parallel.For(len(c.base), 1, func(from, to int) {
		for i := from; i < to; i++ {
			lower[i], upper[i] = c.base[i].split(n, low)
		}
	})
	lowerK := make([][]field.QM31, len(c.large))
	upperK := make([][]field.QM31, len(c.large))
	for i, l := range c.large {
		w := code.PointWeights(l.z, n)
		lowerK[i], upperK[i] = code.WeightTable(w[n-low:]), code.WeightTable(w[:n-low])
		for h := range upperK[i] {
			upperK[i][h] = upperK[i][h].Mul(l.coef)
		}
	}
	parallel.For(1<<(n-low), 1, func(from, to int) {
		for h := from; h < to; h++ {
			row := q[h<<low : (h+1)<<low]
			for i := range lower {
				field.MulAccVec(row, lower[i], upper[i][h])
			}
			for i := range lowerK {
				field.MulAccQM31Vec(row, lowerK[i], upperK[i][h])
			}
		}
	})
}

// split returns the two tables whose product is coef times the weights of
// evaluation at z, for a row of 2^n values: 2^low values over the lower index
// bits, and 2^(n−low) over the upper ones with the coefficient.
func (b baseConstraint) split(n, low int) (lower []field.M31, upper []field.QM31) {
	t := b.z
	lower = make([]field.M31, 1<<low)
	lower[0] = 1
	for j := range low {
		field.ScaleVec(lower[1<<j:2<<j], lower[:1<<j], t)
		t = doubleAngle(t)
	}
	upper = make([]field.QM31, 1<<(n-low))
	upper[0] = b.coef
	for j := range n - low {
		for i := range 1 << j {
			upper[1<<j+i] = upper[i].MulM31(t)
		}
		t = doubleAngle(t)
	}
	return lower, upper
}

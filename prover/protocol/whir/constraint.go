package whir

import (
	"math/bits"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/code"
	"github.com/prove-model/prove-model/prover/math/field"
)

// Constraints is a batch of claims Coef·f(Z) = Coef·value on the codeword of one
// row, held as the functional Σ Coef·(weights of evaluation at Z), see
// code.PointWeights. In-domain points, at which opened leaves give the value,
// are in the base field.
type Constraints struct {
	Base  []BaseConstraint
	Large []LargeConstraint
}

// BaseConstraint is a constraint at a point of the code's domain.
type BaseConstraint struct {
	Coef field.QM31
	Z    field.M31
}

// LargeConstraint is a constraint at an out-of-domain point.
type LargeConstraint struct{ Coef, Z field.QM31 }

// join joins a level's new claims to the running one with the challenge ξ:
// out-of-domain answers with ξ, ξ², …, then the values at the opened positions.
// It returns the new claims as constraints, and the sum that they add to the running
// claim's value.
func join(xi field.QM31, outOfDomain []sample, points []field.M31, values []field.QM31) (c *Constraints, claim field.QM31) {
	c = new(Constraints)
	powers := field.Powers(xi, xi, len(outOfDomain)+len(points))
	for i, s := range outOfDomain {
		c.Large = append(c.Large, LargeConstraint{powers[i], s.z})
		claim = claim.Add(powers[i].Mul(s.value))
	}
	for i, power := range powers[len(outOfDomain):] {
		c.Base = append(c.Base, BaseConstraint{power, points[i]})
		claim = claim.Add(power.Mul(values[i]))
	}
	return c, claim
}

// sample is an out-of-domain point with the claimed value of the row's codeword.
type sample struct{ z, value field.QM31 }

// eval returns the functional's multilinear extension at a point of as many
// coordinates as the row has variables.
func (c *Constraints) eval(point []field.QM31) field.QM31 {
	var sum field.QM31
	for _, l := range c.Large {
		sum = sum.Add(l.Coef.Mul(code.WeightEval(code.PointWeights(l.Z, len(point)), point)))
	}
	for _, b := range c.Base {
		// This is WeightEval, Π_j (1 − X_j + X_j·t_j(z)), with t_j(z) in the base field. t_0 goes
		// with the last coordinate, that of the least significant bit.
		e, t := b.Coef, b.Z
		for j := len(point) - 1; j >= 0; j-- {
			e = e.Mul(point[j].MulM31(t.Sub(1)).AddM31(1))
			t = code.DoubleX(t)
		}
		sum = sum.Add(e)
	}
	return sum
}

// lowVars is the number of index bits that the lower table of a point's weights covers.
// The 2^lowVars sums that belong to one entry of the upper table then stay in the
// first-level cache while the products of all constraints are added to them.
const lowVars = 8

// addTo adds the functional to the table q, whose length is a power of two. The weights of a point
// are the product of a table on the upper index bits and one on the lower, so
// that all constraints together are a matrix product.
func (c *Constraints) addTo(q []field.QM31) {
	n := bits.TrailingZeros(uint(len(q)))
	low := min(n, lowVars)
	lower := make([][]field.M31, len(c.Base))
	upper := make([][]field.QM31, len(c.Base))
	parallel.For(len(c.Base), 1, func(from, to int) {
		for i := from; i < to; i++ {
			lower[i], upper[i] = c.Base[i].split(n, low)
		}
	})
	lowerK := make([][]field.QM31, len(c.Large))
	upperK := make([][]field.QM31, len(c.Large))
	for i, l := range c.Large {
		w := code.PointWeights(l.Z, n)
		lowerK[i], upperK[i] = code.WeightTable(w[n-low:]), code.WeightTable(w[:n-low])
		for h := range upperK[i] {
			upperK[i][h] = upperK[i][h].Mul(l.Coef)
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
func (b BaseConstraint) split(n, low int) (lower []field.M31, upper []field.QM31) {
	lower, upper = make([]field.M31, 1<<low), make([]field.QM31, 1<<(n-low))
	b.splitInto(lower, upper)
	return lower, upper
}

// splitInto is split with the tables' lengths, 2^low and 2^(n−low), taken from the slices
// that it fills. The weight at an index is the product of t_j(z) over the bits j that are 1.
func (b BaseConstraint) splitInto(lower []field.M31, upper []field.QM31) {
	t := b.Z
	lower[0] = 1
	for n := 1; n < len(lower); n *= 2 {
		field.ScaleVec(lower[n:2*n], lower[:n], t)
		t = code.DoubleX(t)
	}
	upper[0] = b.Coef
	for n := 1; n < len(upper); n *= 2 {
		for i, u := range upper[:n] {
			upper[n+i] = u.MulM31(t)
		}
		t = code.DoubleX(t)
	}
}

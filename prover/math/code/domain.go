package code

import (
	"math/bits"

	"github.com/prove-model/prove-model/prover/math/field"
)

// MaxLogSize is the largest n for which X_n exists.
const MaxLogSize = 29

// generator has order 2^31 in the circle group x² + y² = 1 over M31, written
// as the complex number x + iy of norm one. The group law is multiplication.
var generator = field.CM31{A0: 2, A1: 1268011823}

// circleOrder is the binary logarithm of the generator's order.
const circleOrder = 31

// circlePower returns g^e for g of order 2^k, where g = generator^(2^(31−k)).
func circlePower(k int, e uint64) field.CM31 {
	// Squaring the generator 31 − k times is the same as shifting e.
	e = e << (circleOrder - k) & (1<<circleOrder - 1)
	r, b := field.CM31{A0: 1}, generator
	for ; e > 0; e >>= 1 {
		if e&1 == 1 {
			r = r.Mul(b)
		}
		b = b.Mul(b)
	}
	return r
}

// Domain is X_n = { x((2j+1)·g) : j < 2^n }, where g has order 2^(n+2) in the
// circle group. Its points are distinct, and for n > 0 none is zero and −x is
// a point with x.
//
// Positions in a codeword are numbered so that folding halves them: positions
// 2i and 2i+1 hold the points x and −x, and position i of X_{n−1} holds their
// common image 2x² − 1.
type Domain struct{ log int }

// NewDomain returns X_n for n = log. It panics unless 0 ≤ log ≤ MaxLogSize.
func NewDomain(log int) Domain {
	if log < 0 || log > MaxLogSize {
		panic("code: no such domain")
	}
	return Domain{log}
}

// Point returns the point at a position below 2^n.
func (d Domain) Point(position uint64) field.M31 {
	if position>>d.log != 0 {
		panic("code: position outside the domain")
	}
	return circlePower(d.log+2, 2*naturalIndex(position, d.log)+1).A0
}

// naturalIndex returns the j of the point (2j+1)·g at a position of X_n. The
// preimages of point j of X_{n−1} are j and 2^n − 1 − j, which is the
// complement of j in n bits; so bit n−1−i of j says whether the lowest i + 1
// bits of the position ask for an odd number of complements.
func naturalIndex(position uint64, n int) uint64 {
	parity := position
	for s := 1; s < n; s *= 2 {
		parity ^= parity << s
	}
	return reverse(parity, n)
}

// positionOf is the inverse of naturalIndex.
func positionOf(j uint64, n int) uint64 {
	parity := reverse(j, n)
	return (parity ^ parity<<1) & (1<<n - 1)
}

// reverse returns the lowest n bits of v in the opposite order.
func reverse(v uint64, n int) uint64 { return bits.Reverse64(v << (64 - n)) }

// Generator returns the generator of the circle group, of order 2^31.
func Generator() field.CM31 { return generator }

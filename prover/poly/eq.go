package poly

import (
	"fmt"

	"github.com/prove-model/prove-model/prover/field"
)

// EqTable returns the 2^len(r) values eq(r, 0), eq(r, 1), …
func EqTable(r []field.QM31) []field.QM31 {
	t := make([]field.QM31, 1<<len(r))
	field.EqTableInto(t, r, field.One)
	return t
}

// Eq returns eq(a, b) = Π_j (a_j·b_j + (1−a_j)(1−b_j)) for two points of the
// same length. On Boolean points it is 1 if they are equal and 0 otherwise.
func Eq(a, b []field.QM31) field.QM31 {
	if len(a) != len(b) {
		panic(fmt.Sprintf("poly: eq of points of %d and %d coordinates", len(a), len(b)))
	}
	e := field.One
	for j := range a {
		// ab + (1−a)(1−b) = 1 − a − b + 2ab: one product.
		ab := a[j].Mul(b[j])
		e = e.Mul(ab.Double().Sub(a[j]).Sub(b[j]).AddM31(1))
	}
	return e
}

// EqIndex returns eq(r, i) for i in [0, 2^len(r)), without a table.
func EqIndex(r []field.QM31, i uint64) field.QM31 {
	e := field.One
	for j := range r {
		if i>>(len(r)-1-j)&1 == 1 {
			e = e.Mul(r[j])
		} else {
			e = e.Mul(field.One.Sub(r[j]))
		}
	}
	return e
}

package poly

import (
	"fmt"

	"github.com/prove-model/prove-model/prover/math/field"
)

// MaskEval returns Σ_{i<dim} eq(r, i), the evaluation at r of the table that
// is 1 below dim and 0 from there on, for dim ≤ 2^len(r), in O(len(r)).
func MaskEval(r []field.QM31, dim uint64) field.QM31 {
	sum := field.Zero
	walkBelow(r, dim, func(_ int, _ uint64, weight field.QM31) { sum = sum.Add(weight) })
	return sum
}

// RangeEval returns Σ_{lo≤i<hi} eq(r, i) for lo ≤ hi ≤ 2^len(r), in O(len(r)).
func RangeEval(r []field.QM31, lo, hi uint64) field.QM31 {
	return MaskEval(r, hi).Sub(MaskEval(r, lo))
}

// IndexMaskEval returns Σ_{i<dim} i·eq(r, i), the evaluation at r of the table
// that is i at index i below dim and 0 from there on, for dim ≤ 2^len(r), in
// O(len(r)). Indices are taken modulo p.
func IndexMaskEval(r []field.QM31, dim uint64) field.QM31 {
	// tail[j] = Σ_{l≥j} 2^(n−1−l)·r_l is the MLE of the index made of the
	// variables from j on.
	n := len(r)
	tail := make([]field.QM31, n+1)
	for j := n - 1; j >= 0; j-- {
		tail[j] = tail[j+1].Add(r[j].MulM31(powerOfTwo(n - 1 - j)))
	}
	sum := field.Zero
	walkBelow(r, dim, func(fixed int, first uint64, weight field.QM31) {
		mean := tail[fixed].AddM31(field.Reduce64(first))
		sum = sum.Add(weight.Mul(mean))
	})
	return sum
}

// IndexRangeEval returns Σ_{lo≤i<hi} i·eq(r, i) for lo ≤ hi ≤ 2^len(r), in
// O(len(r)). Indices are taken modulo p. With RangeEval it gives every
// piecewise-linear table in one term per piece.
func IndexRangeEval(r []field.QM31, lo, hi uint64) field.QM31 {
	return IndexMaskEval(r, hi).Sub(IndexMaskEval(r, lo))
}

// walkBelow visits the aligned blocks, one per set bit of dim, that together
// make up [0, dim): fixed leading variables select the block, first is its
// first index and weight the product of the fixed variables' eq factors.
func walkBelow(r []field.QM31, dim uint64, visit func(fixed int, first uint64, weight field.QM31)) {
	n := len(r)
	if n > 63 || dim > 1<<n {
		panic(fmt.Sprintf("poly: a range of %d entries over %d variables", dim, n))
	}
	if dim == 1<<n {
		visit(0, 0, field.One)
		return
	}
	prefix := field.One
	for j := range r {
		low := prefix.Sub(prefix.Mul(r[j])) // the factor 1 − r_j
		bit := uint64(1) << (n - 1 - j)
		if dim&bit == 0 {
			prefix = low
			continue
		}
		// Indices that agree with dim above this bit and have it clear.
		visit(j+1, dim&^(2*bit-1), low)
		prefix = prefix.Sub(low)
	}
}

// powerOfTwo returns 2^k in F_p, where 2^31 = 1.
func powerOfTwo(k int) field.M31 { return field.M31(1) << (k % 31) }

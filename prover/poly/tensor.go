package poly

import (
	"math/bits"

	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/parallel"
)

// A tensor of shape (d1, …, dr) has ⌈log2 d_j⌉ variables for axis j, axis 1
// first, and its table is zero beyond each dimension (docs/protocol.md,
// "Layout and commitments"). In memory it is dense and row-major.

// axisVars returns ⌈log2 d⌉, the variables of an axis of length d ≥ 1.
func axisVars(d int) int { return bits.Len(uint(d - 1)) }

// SplitAxes cuts a point of a tensor's MLE into one part an axis. The point
// must have the shape's number of variables.
func SplitAxes(shape []int, point []field.QM31) [][]field.QM31 {
	parts := make([][]field.QM31, len(shape))
	for i, d := range shape {
		v := axisVars(d)
		parts[i], point = point[:v:v], point[v:]
	}
	return parts
}

// JoinAxes is the inverse of SplitAxes.
func JoinAxes(parts [][]field.QM31) []field.QM31 {
	var point []field.QM31
	for _, p := range parts {
		point = append(point, p...)
	}
	return point
}

// TensorMask returns Π_j Σ_{i<d_j} eq(parts[j], i): the MLE of the tensor that
// is 1 on the index space and 0 in the padding.
func TensorMask(shape []int, parts [][]field.QM31) field.QM31 {
	m := field.One
	for j, d := range shape {
		if d&(d-1) != 0 {
			m = m.Mul(MaskEval(parts[j], uint64(d)))
		}
	}
	return m
}

// OuterEq returns Π_j eq(parts[j], i_j) for every index of the shape, dense
// and row-major.
func OuterEq(shape []int, parts [][]field.QM31) []field.QM31 {
	t := []field.QM31{field.One}
	for j, d := range shape {
		e := EqTable(parts[j])[:d]
		if len(t) == 1 {
			t = e
			continue
		}
		t = Outer(t, e)
	}
	return t
}

// Outer returns the products a[i]·b[j], row-major.
func Outer(a, b []field.QM31) []field.QM31 {
	out := make([]field.QM31, len(a)*len(b))
	for i, x := range a {
		field.MulAccQM31Vec(out[i*len(b):][:len(b)], b, x)
	}
	return out
}

// PadTable spreads a dense table to the cube in which every axis is padded to
// a power of two. It returns t itself if nothing needs to move.
func PadTable(t []field.QM31, shape []int) []field.QM31 {
	vars, contiguous := 0, true
	for j, d := range shape {
		vars += axisVars(d)
		contiguous = contiguous && (j == 0 || d&(d-1) == 0)
	}
	if len(t) == 1<<vars {
		return t
	}
	out := make([]field.QM31, 1<<vars)
	if contiguous {
		copy(out, t)
		return out
	}
	for i, v := range t {
		at, shift, rest := 0, 0, i
		for j := len(shape) - 1; j >= 0; j-- {
			at |= rest % shape[j] << shift
			rest /= shape[j]
			shift += axisVars(shape[j])
		}
		out[at] = v
	}
	return out
}

// minDotLen is the length from which the dot products of EvalTensor are worth
// their call.
const minDotLen = 512

// EvalTensor returns the MLE of a dense tensor at a point. len(v) is the
// product of the dimensions.
func EvalTensor(shape []int, v []int32, point []field.QM31) field.QM31 {
	parts := SplitAxes(shape, point)
	// The last axes are bound together, so that rows are neither many and
	// short nor one long one; then the first axes.
	cut, d := len(shape), 1
	for cut > 0 && d < minDotLen {
		cut--
		d *= shape[cut]
	}
	last := OuterEq(shape[cut:], parts[cut:])
	sums := make([]field.QM31, len(v)/d)
	parallel.For(len(sums), max(1, entriesPerTask/d), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			sums[i] = field.DotInt32(v[i*d:(i+1)*d], last)
		}
	})
	return field.Dot(sums, OuterEq(shape[:cut], parts[:cut]))
}

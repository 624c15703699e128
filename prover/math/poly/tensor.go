package poly

import (
	"math/bits"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// A tensor of shape (d1, …, dr) has ⌈log2 d_j⌉ variables for axis j, axis 1
// first, and its table is zero beyond each dimension (docs/protocol.md,
// "Layout and commitments"). In memory it is dense and row-major.

// axisVars returns ⌈log2 d⌉, the variables of an axis of length d ≥ 1.
func axisVars(d int) int { return bits.Len(uint(d - 1)) }

// SplitAxes cuts a point of a tensor's MLE into one part an axis. The point
// must have the shape's number of variables. Its coordinates are field elements,
// or names of challenges that are still to be drawn.
func SplitAxes[T any](shape []int, point []T) [][]T {
	parts := make([][]T, len(shape))
	for i, d := range shape {
		v := axisVars(d)
		parts[i], point = point[:v:v], point[v:]
	}
	return parts
}

// JoinAxes is the inverse of SplitAxes.
func JoinAxes[T any](parts [][]T) []T {
	var point []T
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
	switch {
	case len(b) == 1:
		scale(out, a, b[0])
	case len(b) < shortRow:
		for i, x := range a {
			for j, y := range b {
				out[i*len(b)+j] = x.Mul(y)
			}
		}
	default:
		for i, x := range a {
			scale(out[i*len(b):][:len(b)], b, x)
		}
	}
	return out
}

// scale sets dst[i] = a[i]·s. It writes dst before it reads it, as reading pages of new memory first would cost a
// second page fault for each.
func scale(dst, a []field.QM31, s field.QM31) {
	copy(dst, a)
	field.MulAccQM31Vec(dst, a, s.Sub(field.One))
}

// shortRow is the least length of a row for which a vector operation is faster than single
// products.
const shortRow = 16

// PadTable copies a dense table to a table in which every axis is padded with zeros to
// a power of two. It returns t itself if all dimensions are powers of two.
func PadTable(t []field.QM31, shape []int) []field.QM31 {
	vars := 0
	for _, d := range shape {
		vars += axisVars(d)
	}
	if len(t) == 1<<vars {
		return t
	}
	out := make([]field.QM31, 1<<vars)
	PadInto(out, t, shape)
	return out
}

// PadInto copies the entries of t to their places in the padded table out (PadTable). The rest of out must be zero.
func PadInto(out, t []field.QM31, shape []int) {
	contiguous := true
	for j, d := range shape {
		contiguous = contiguous && (j == 0 || d&(d-1) == 0)
	}
	if contiguous {
		copy(out, t)
		return
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
}

// EvalTensor returns the MLE of a dense tensor at a point. len(v) is the
// product of the dimensions. It needs little memory besides v.
func EvalTensor(shape []int, v []int32, point []field.QM31) field.QM31 {
	return EvalInts(shape, ints.Int32s(v), point)
}

// EvalInts is EvalTensor for integers of any width.
func EvalInts(shape []int, v ints.Ints, point []field.QM31) field.QM31 {
	weights := NewEqRows(shape, SplitAxes(shape, point))
	var total field.QM31
	parallel.Collect(v.Len(), entriesPerTask, func(lo, hi int) func() {
		var sum field.QM31
		var buf []int32
		weights.Rows(lo, hi, func(from, to int, weight field.QM31, inner []field.QM31) {
			sum = sum.Add(weight.Mul(field.DotInt32(ints.Part(v, from, to, &buf), inner)))
		})
		return func() { total = total.Add(sum) }
	})
	return total
}

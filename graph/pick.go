package graph

import (
	"slices"

	"github.com/prove-model/prove-model/internal/refuse"
)

// A computed index selects a row by multiplying with a vector that has a 1 at the row's
// place. For up to directRows rows, each entry of the vector is a test of the index. For
// more, the index is split into two digits, and the vector is the product of the digits'
// vectors.
const directRows = 64

// mostPicked bounds the entries of all these vectors of one Take together.
const mostPicked = 1 << 24

// given reports whether a value is an integer input of the graph, possibly in another
// shape or type. Indices in it are public.
func given(v *value) bool {
	for v.node != nil {
		switch v.node.op.(type) {
		case Reshape, Identity, Convert:
			v = v.node.in[0]
		default:
			return false
		}
	}
	return v.tensor == nil && !v.dtype.IsFloat()
}

// pick is Take at computed indices, of which negative ones count from the end. An index
// without a row gives zeros.
func (b *Builder) pick(x Value, axis int, indices Value) (made Value) {
	defer b.refused(&made)
	in, at, dtype := b.Shape(x), b.Shape(indices), b.DType(x)
	b.needAxes(x, axis)
	if d := b.DType(indices); d.IsFloat() || d == Bool {
		return b.Failf("its indices have type %v", d)
	}
	n, rows := Size(at), in[axis]
	refuse.If(len(in)-1+len(at) > MaxRank, "its output has %d axes", len(in)-1+len(at))
	refuse.If(n*rows > mostPicked,
		"%d computed indices choose among %d each: that is more than %d choices in all; give the indices as an input", n, rows, mostPicked)
	hot := b.hot(indices, rows)
	// Move the axis to the front, and merge the others.
	front := append([]int{axis}, slices.Delete(index(len(in), 1), axis, axis+1)...)
	rest := slices.Concat(in[:axis], in[axis+1:])
	x = b.Reshape(b.Transpose(x, front), []int{rows, Size(rest)})
	var y Value
	if dtype.IsFloat() {
		y = b.MatMul(b.Cast(hot, dtype), x)
	} else {
		whole := dtype
		if dtype == Bool {
			whole = Int32
		}
		refuse.If(n*rows*Size(rest) > mostPicked,
			"%d computed indices choose among %d rows of %d integers: that is too much", n, rows, Size(rest))
		terms := b.Mul(b.Reshape(b.Cast(hot, whole), []int{n, rows, 1}), b.Reshape(b.Cast(x, whole), []int{1, rows, Size(rest)}))
		y = b.Cast(b.Reduce(Sum, terms, []int{1}, false), dtype)
	}
	// The axes of the indices stand in front; they belong in the axis' place.
	y = b.Reshape(y, slices.Concat(at, rest))
	order := index(len(at)+len(rest), 1)
	before, after := order[len(at):][:axis], order[len(at)+axis:]
	return b.Transpose(y, slices.Concat(before, order[:len(at)], after))
}

// hot returns, for each of n indices, its one-hot vector: shape (n, rows), 1 at the row
// with that index and 0 elsewhere. The type is bool, or that of the indices.
func (b *Builder) hot(indices Value, rows int) Value {
	n := Size(b.Shape(indices))
	i := b.Reshape(indices, []int{n, 1})
	if lo, _ := b.DType(i).Bounds(); lo < 0 {
		negative := b.Cast(b.Compare(Less, i, b.like(i, 0)), b.DType(i))
		i = b.Add(i, b.Mul(negative, b.like(i, float64(rows))))
	}
	if rows <= directRows {
		return b.OneHot(i, 1, rows)
	}
	// Split the index as high·step + low, with a step of about the root of rows.
	step := 1
	for step*step < rows {
		step *= 2
	}
	steps := (rows + step - 1) / step
	high := b.floorDiv(i, b.like(i, float64(step)))
	low := b.Sub(i, b.Mul(high, b.like(i, float64(step))))
	digit := func(d Value, size int, shape ...int) Value {
		return b.Reshape(b.Cast(b.OneHot(d, 1, size), b.DType(i)), shape)
	}
	hot := b.Mul(digit(high, steps, n, steps, 1), digit(low, step, n, 1, step))
	return b.SliceAxis(b.Reshape(hot, []int{n, steps * step}), 1, 0, 1, rows)
}

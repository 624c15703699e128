package onnx

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
)

// argMax is the lowering of ArgMax for x, and of ArgMin for −x.
func (o *op) argMax(x graph.Value) {
	in := o.shape(x)
	axis := o.axis(o.intAttr("axis", 0), len(in))
	keep := o.flagAttr("keepdims", true)
	y := o.ArgMax(x, axis, o.flagAttr("select_last_index", false))
	if !keep {
		y = o.Reshape(y, without(in, axis))
	}
	o.result(0, y)
}

// without returns a shape without one of its axes.
func without(shape []int, axis int) []int {
	return slices.Delete(slices.Clone(shape), axis, axis+1)
}

// lowerTopK always sorts the results. The attribute sorted = 0 allows any order.
func lowerTopK(o *op) {
	x, in := o.tensor(0)
	k := o.intAttr("k", -1)
	if o.has(1) {
		k = int64(o.scalarInput(1, "k"))
	}
	axis := o.axis(o.intAttr("axis", -1), len(in))
	least := !o.flagAttr("largest", true)
	o.flagAttr("sorted", true)
	o.failIf(k < 0 || k > int64(in[axis]), "%d of an axis of %d", k, in[axis])
	perm := toLast(len(in), axis)
	values, indices := o.TopK(o.Transpose(x, perm), int(k), least)
	o.result(0, o.Transpose(values, perm))
	if len(o.proto.Output) > 1 {
		o.result(1, o.Transpose(indices, perm))
	}
}

// toLast returns the permutation that swaps an axis and the last one. It is its own
// inverse.
func toLast(rank, axis int) []int {
	perm := upTo(0, rank)
	perm[axis], perm[rank-1] = rank-1, axis
	return perm
}

// lowerOneHot also accepts negative indices, which count from the end.
func lowerOneHot(o *op) {
	index, in := o.tensor(0)
	depth := o.scalarInput(1, "the depth")
	o.failIf(depth < 1 || depth > 1<<20, "a depth of %v", depth)
	n := int(depth)
	values := o.in(2)
	s := o.shape(values)
	o.failIf(len(s) != 1 || s[0] != 2, "values of shape %v", s)
	axis := o.axis(o.intAttr("axis", -1), len(in)+1)
	index = o.Reshape(index, slices.Insert(slices.Clone(in), axis, 1))
	if o.DType(index).IsFloat() {
		index = o.Cast(index, graph.Int64)
	}
	hot := o.OneHot(o.fromStart(index, n), axis, n)
	off, on := o.SliceAxis(values, 0, 0, 1, 1), o.SliceAxis(values, 0, 1, 1, 1)
	o.result(0, o.Where(hot, on, off))
}

// fromStart adds n, the length of an axis, to the negative ones of computed indices,
// which count from its end.
func (o *op) fromStart(index graph.Value, n int) graph.Value {
	negative := o.Cast(o.Compare(graph.Less, index, o.whole(index, 0)), o.DType(index))
	return o.Add(index, o.Mul(negative, o.whole(index, n)))
}

// whole is the number n as a constant of x's type, an integer type.
func (o *op) whole(x graph.Value, n int) graph.Value {
	return o.Cast(o.Integers([]int{}, []int64{int64(n)}), o.DType(x))
}

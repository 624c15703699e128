package onnx

import (
	"github.com/prove-model/prove-model/graph"
)

// along lowers a reduction that has a method of its own.
func along(build func(b *graph.Builder, x graph.Value, axes []int, keep bool) graph.Value) func(*op) {
	return func(o *op) {
		x, axes, keep := o.reduced()
		o.result(0, build(o.Builder, x, axes, keep))
	}
}

func lowerReduceLogSum(o *op) {
	x, axes, keep := o.reduced()
	o.result(0, o.Apply(graph.Log, o.Reduce(graph.Sum, x, axes, keep)))
}

func lowerArgMax(o *op) { o.argMax(o.in(0)) }
func lowerArgMin(o *op) { o.argMax(o.Negative(o.in(0))) }

func (o *op) argMax(x graph.Value) {
	o.arity(1, 1)
	in := o.shape(x)
	axis := o.axis(o.intAttr("axis", 0), len(in))
	keep := o.flagAttr("keepdims", true)
	y := o.ArgMax(x, axis, o.flagAttr("select_last_index", false))
	if !keep {
		y = o.Reshape(y, without(in, axis))
	}
	o.result(0, y)
}

// without is a shape without one axis.
func without(shape []int, axis int) []int {
	out := append([]int{}, shape[:axis]...)
	return append(out, shape[axis+1:]...)
}

// lowerTopK always sorts the results; sorted = 0 allows any order.
func lowerTopK(o *op) {
	o.arity(1, 2)
	x := o.in(0)
	in := o.shape(x)
	k := o.intAttr("k", -1)
	if o.has(1) {
		k = int64(o.scalarInput(1, "k"))
	}
	axis := o.axis(o.intAttr("axis", -1), len(in))
	least := !o.flagAttr("largest", true)
	o.flagAttr("sorted", true)
	if k < 0 || k > int64(in[axis]) {
		o.failf("%d of an axis of %d", k, in[axis])
	}
	perm := toLast(len(in), axis)
	values, indices := o.TopK(o.Transpose(x, perm), int(k), least)
	o.result(0, o.Transpose(values, perm))
	if len(o.proto.Output) > 1 {
		o.result(1, o.Transpose(indices, perm))
	}
}

// toLast swaps an axis and the last: a permutation that is its own inverse.
func toLast(rank, axis int) []int {
	perm := make([]int, rank)
	for i := range perm {
		perm[i] = i
	}
	perm[axis], perm[rank-1] = rank-1, axis
	return perm
}

// lowerOneHot counts negative indices from the end.
func lowerOneHot(o *op) {
	o.arity(3, 3)
	index := o.in(0)
	in := o.shape(index)
	depth := o.scalarInput(1, "the depth")
	if depth < 1 || depth > 1<<20 {
		o.failf("a depth of %v", depth)
	}
	n := int(depth)
	values := o.in(2)
	if s := o.shape(values); len(s) != 1 || s[0] != 2 {
		o.failf("values of shape %v", s)
	}
	axis := o.axis(o.intAttr("axis", -1), len(in)+1)
	shape := append([]int{}, in[:axis]...)
	shape = append(append(shape, 1), in[axis:]...)
	index = o.Reshape(index, shape)
	if o.DType(index).IsFloat() {
		index = o.Cast(index, graph.Int64)
	}
	negative := o.Cast(o.Compare(graph.Less, index, o.zero(index)), o.DType(index))
	index = o.Add(index, o.Mul(negative, o.whole(index, n)))
	hot := o.OneHot(index, axis, n)
	off, on := o.SliceAxis(values, 0, 0, 1, 1), o.SliceAxis(values, 0, 1, 1, 1)
	o.result(0, o.Where(hot, on, off))
}

// whole is a number of the type of x, which is of integers.
func (o *op) whole(x graph.Value, n int) graph.Value {
	return o.Cast(o.Integers([]int{}, []int64{int64(n)}), o.DType(x))
}

func (o *op) zero(x graph.Value) graph.Value { return o.whole(x, 0) }

package onnx

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
)

// cumulative reads the inputs and attributes that CumSum and CumProd share.
func (o *op) cumulative() (x graph.Value, axis int, exclusive, reverse bool) {
	x = o.in(0)
	a := o.scalarInput(1, "the axis")
	return x, o.axis(int64(a), len(o.shape(x))), o.flagAttr("exclusive", false), o.flagAttr("reverse", false)
}

// lowerCumSum multiplies floats by a triangular matrix of ones. Such a product may round large
// integers, so integers are added in log₂ n steps (cumulated).
func lowerCumSum(o *op) {
	x, axis, exclusive, reverse := o.cumulative()
	n := o.shape(x)[axis]
	if !o.DType(x).IsFloat() {
		o.result(0, o.cumulated(x, axis, exclusive, reverse, 0, o.Add))
		return
	}
	o.failIf(n > 1<<12, "sums of %d elements; %d at most are supported", n, 1<<12)
	o.room(n, n)
	w := filled(n*n, func(at int) float32 {
		i, j := at/n, at%n // the weight of input i in output j
		return float32(truth(i < j && !reverse || i > j && reverse || i == j && !exclusive))
	})
	perm := toLast(len(o.shape(x)), axis)
	triangle := o.Table(&graph.Tensor{Shape: []int{n, n}, DType: graph.Float, F32: w, Public: true})
	o.result(0, o.Transpose(o.MatMul(o.Transpose(x, perm), triangle), perm))
}

func lowerCumProd(o *op) {
	x, axis, exclusive, reverse := o.cumulative()
	o.result(0, o.cumulated(x, axis, exclusive, reverse, 1, func(x, y graph.Value) graph.Value { return o.InType(o.Mul(x, y)) }))
}

// cumulated combines each element with all elements before it along an axis, in log₂ n steps:
// step k combines it with the element 2^k places before. Elements before the first one are
// beyond, the neutral element of combine.
func (o *op) cumulated(x graph.Value, axis int, exclusive, reverse bool, beyond float64, combine func(x, y graph.Value) graph.Value) graph.Value {
	n := o.shape(x)[axis]
	shifted := func(v graph.Value, by int) graph.Value {
		rank := len(o.shape(v))
		begin, end := make([]int, rank), make([]int, rank)
		if begin[axis], end[axis] = by, -by; reverse {
			begin[axis], end[axis] = -by, by
		}
		return o.Pad(v, begin, end, beyond)
	}
	if exclusive {
		x = shifted(x, min(1, n))
	}
	for s := 1; s < n; s *= 2 {
		x = combine(x, shifted(x, s))
	}
	return x
}

// lowerEyeLike makes a constant with ones along a diagonal.
func lowerEyeLike(o *op) {
	in := o.shape(o.in(0))
	k := o.intAttr("k", 0)
	dt := graph.DType(o.intAttr("dtype", int64(o.DType(o.in(0)))))
	o.failIf(len(in) != 2, "its input has shape %v", in)
	o.room(in...)
	v := filled(graph.Size(in), func(at int) int64 { return truth(int64(at%in[1]-at/in[1]) == k) })
	o.result(0, o.Cast(o.Integers(slices.Clone(in), v), dt))
}

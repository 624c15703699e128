package onnx

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
)

// lowerInstanceNorm normalises each channel of each sample.
func lowerInstanceNorm(o *op) {
	x, in := o.ranked(0, 3)
	y := o.Norm(graph.Norm{Axes: upTo(2, len(in)), Centred: true, Epsilon: o.floatAttr("epsilon", 1e-5)}, x)
	o.result(0, o.perChannel(y, o.in(1), o.in(2)))
}

// perChannel is x·scale + bias, with one number of each for every channel.
func (o *op) perChannel(x, scale, bias graph.Value) graph.Value {
	in := o.shape(x)
	shape := slices.Repeat([]int{1}, len(in)-1)
	shape[0] = in[1]
	for _, v := range []graph.Value{scale, bias} {
		o.failIf(graph.Size(o.shape(v)) != in[1], "scale or bias of shape %v for %d channels", o.shape(v), in[1])
	}
	return o.Add(o.Mul(x, o.Reshape(scale, shape)), o.Reshape(bias, shape))
}

// lowerGroupNorm normalises groups of channels. Before operator set 21, scale and bias
// have one entry for each group.
func lowerGroupNorm(o *op) {
	x, in := o.tensor(0)
	groups := int(o.intAttr("num_groups", 0))
	o.failIf(len(in) < 2 || groups < 1 || in[1]%groups != 0, "%d groups of shape %v", groups, in)
	o.ignore("stash_type")
	rows := []int{in[0], groups, graph.Size(in[1:]) / groups}
	y := o.Norm(graph.Norm{Axes: []int{2}, Centred: true, Epsilon: o.floatAttr("epsilon", 1e-5)}, o.Reshape(x, rows))
	y = o.Reshape(y, in)
	scale, bias := o.in(1), o.in(2)
	if n := graph.Size(o.shape(scale)); n == groups && n != in[1] {
		o.room(in[1])
		group := filled(in[1], func(i int) int { return i * groups / in[1] })
		scale, bias = o.Gather(scale, 0, group), o.Gather(bias, 0, group)
	}
	o.result(0, o.perChannel(y, scale, bias))
}

// lowerMVN subtracts the mean and divides by the deviation.
func lowerMVN(o *op) {
	x := o.in(0)
	rank := len(o.shape(x))
	list := o.intsAttr("axes")
	if list == nil {
		list = []int64{0, 2, 3}
	}
	o.result(0, o.Norm(graph.Norm{Axes: o.axes(list, rank), Centred: true, Epsilon: 1e-18}, x))
}

// lowerLRN divides by a power of the mean square of neighbouring channels.
func lowerLRN(o *op) {
	x, in := o.tensor(0)
	size := int(o.intAttr("size", 0))
	o.failIf(len(in) < 3 || size < 1 || size > 1<<16, "%d channels of shape %v", size, in)
	alpha, beta, bias := o.floatAttr("alpha", 1e-4), o.floatAttr("beta", 0.75), o.floatAttr("bias", 1)
	before := (size - 1) / 2
	window := graph.Window{Kernel: []int{size, 1}, Strides: []int{1, 1}, Dilations: []int{1, 1}, Begin: []int{before, 0}, End: []int{size - 1 - before, 0}}
	flat := o.Reshape(o.Mul(x, x), []int{in[0], 1, in[1], graph.Size(in[2:])})
	mean := o.AveragePool(flat, window, []int{-before, 0}, []int{in[1] + size, graph.Size(in[2:])})
	scaled := o.Add(o.Mul(mean, o.Number(alpha)), o.Number(bias))
	o.result(0, o.Mul(x, o.Reshape(o.Apply(graph.Pow, scaled, -beta), in)))
}

// lowerLpNorm divides by the p-norm along an axis.
func lowerLpNorm(o *op) {
	p := o.intAttr("p", 2)
	x := o.in(0)
	axes := []int{o.axis(o.intAttr("axis", -1), len(o.shape(x)))}
	switch p {
	case 1:
		o.result(0, o.Div(x, o.Reduce(graph.Sum, o.Apply(graph.Abs, x), axes, true)))
	case 2:
		o.result(0, o.Norm(graph.Norm{Axes: axes, Sum: true}, x))
	default:
		o.failf("p = %d is not supported", p)
	}
}

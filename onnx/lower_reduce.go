package onnx

import "github.com/prove-model/prove-model/graph"

// reduced reads the input, the axes and keepdims of a Reduce operator. Axes are an
// input or an attribute; without them all axes are reduced, or none with
// noop_with_empty_axes.
func (o *op) reduced() (x graph.Value, axes []int, keep bool) {
	x = o.in(0)
	rank := len(o.shape(x))
	keep = o.flagAttr("keepdims", true)
	noop := o.flagAttr("noop_with_empty_axes", false)
	axes = o.axes(o.listed("axes", 1), rank)
	if len(axes) == 0 && !noop {
		axes = upTo(0, rank)
	}
	return x, axes, keep
}

// reduction lowers an operator that combines elements.
func reduction(f graph.Reduction) func(*op) {
	return func(o *op) {
		x, axes, keep := o.reduced()
		o.result(0, o.Reduce(f, x, axes, keep))
	}
}

func lowerReduceL1(o *op) {
	x, axes, keep := o.reduced()
	o.result(0, o.Reduce(graph.Sum, o.Apply(graph.Abs, x), axes, keep))
}

func lowerReduceSumSquare(o *op) {
	x, axes, keep := o.reduced()
	o.result(0, o.Reduce(graph.Sum, o.Mul(x, x), axes, keep))
}

func lowerReduceL2(o *op) {
	x, axes, keep := o.reduced()
	o.result(0, o.Apply(graph.Sqrt, o.Reduce(graph.Sum, o.Mul(x, x), axes, keep)))
}

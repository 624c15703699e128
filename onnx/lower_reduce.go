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

// reduction is what a Reduce operator builds.
type reduction func(b *graph.Builder, x graph.Value, axes []int, keep bool) graph.Value

// along is the lowering of a Reduce operator.
func along(build reduction) func(*op) {
	return func(o *op) {
		x, axes, keep := o.reduced()
		o.result(0, build(o.Builder, x, axes, keep))
	}
}

// summed is the reduction after(Σ before(x)). before or after may be nil, for the identity.
func summed(before, after func(b *graph.Builder, x graph.Value) graph.Value) reduction {
	return func(b *graph.Builder, x graph.Value, axes []int, keep bool) graph.Value {
		if before != nil {
			x = before(b, x)
		}
		if x = b.Reduce(graph.Sum, x, axes, keep); after != nil {
			x = after(b, x)
		}
		return x
	}
}

func absolute(b *graph.Builder, x graph.Value) graph.Value  { return b.Apply(graph.Abs, x) }
func squared(b *graph.Builder, x graph.Value) graph.Value   { return b.Mul(x, x) }
func root(b *graph.Builder, x graph.Value) graph.Value      { return b.Apply(graph.Sqrt, x) }
func logarithm(b *graph.Builder, x graph.Value) graph.Value { return b.Apply(graph.Log, x) }

func mean(b *graph.Builder, x graph.Value, axes []int, keep bool) graph.Value {
	return b.Reduce(graph.Mean, x, axes, keep)
}

package onnx

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
)

func lowerGemm(o *op) {
	g := graph.Gemm{
		TransA: o.flagAttr("transA", false), TransB: o.flagAttr("transB", false),
		Alpha: o.floatAttr("alpha", 1), Beta: o.floatAttr("beta", 1),
	}
	o.result(0, o.Gemm(g, o.in(0), o.in(1), o.optional(2)...))
}

// lowerConv takes the kernel's size from the weights; the attribute kernel_shape must agree with
// it.
func lowerConv(o *op) {
	x, w := o.in(0), o.in(1)
	sx, sw := o.shape(x), o.shape(w)
	o.failIf(len(sx) < 3 || len(sw) != len(sx),
		"input and weights have shapes %v and %v; one to %d spatial axes are supported", sx, sw, mostSpatial)
	kernel := o.intsAttr("kernel_shape")
	for i, k := range kernel {
		o.failIf(len(kernel) != len(sw)-2 || k != int64(sw[2+i]),
			"kernel_shape %v, but the weights have shape %v", kernel, sw)
	}
	group := o.intAttr("group", 1)
	o.failIf(group < 1 || group > int64(sx[1]),
		"weights of shape %v in %d groups do not fit an input of shape %v", sw, group, sx)
	window, _ := o.window(sx[2:], sw[2:])
	o.result(0, o.convolve(window, int(group), x, w, o.optional(2)...))
}

// lowerBatchNorm is BatchNormalization with the trained statistics.
func lowerBatchNorm(o *op) {
	eps := o.floatAttr("epsilon", 1e-5)
	momentum := o.floatAttr("momentum", 0.9)
	if o.flagAttr("training_mode", false) {
		o.batchNormOfBatch(eps, momentum)
		return
	}
	if !o.flagAttr("spatial", true) {
		o.result(0, o.batchNormOfEach(eps))
		return
	}
	for i := 1; i < 5; i++ {
		if o.Tensor(o.in(i)) == nil { // computed statistics: an affine map with computed factors
			x, _ := o.ranked(0, 2)
			scale := o.Mul(o.in(1), o.Apply(graph.Pow, o.Add(o.in(4), o.Number(eps)), -0.5))
			o.result(0, o.perChannel(x, scale, o.Sub(o.in(2), o.Mul(o.in(3), scale))))
			return
		}
	}
	o.result(0, o.BatchNorm(o.in(0), graph.Statistics{
		Scale: o.in(1), Bias: o.in(2), Mean: o.in(3), Variance: o.in(4), Epsilon: eps,
	}))
}

// batchNormOfBatch is BatchNormalization in training mode: it normalises by the mean and
// variance of the batch. Its other outputs are the running statistics, updated by those of
// the batch.
func (o *op) batchNormOfBatch(eps, momentum float64) {
	x, in := o.ranked(0, 2)
	axes := append([]int{0}, upTo(2, len(in))...)
	y := o.Norm(graph.Norm{Axes: axes, Centred: true, Epsilon: eps}, x)
	o.result(0, o.perChannel(y, o.in(1), o.in(2)))
	mean := o.Reduce(graph.Mean, x, axes, true)
	off := o.Sub(x, mean)
	variance := o.Reduce(graph.Mean, o.Mul(off, off), axes, false)
	for i, now := range []graph.Value{o.Reshape(mean, in[1:2]), variance} {
		if o.wanted(1 + i) {
			o.result(1+i, o.Add(o.Mul(o.in(3+i), o.Number(momentum)), o.Mul(now, o.Number(1-momentum))))
		}
	}
}

// softmax is the lowering of an operator like Softmax. Before operator set 13 it works
// along all axes from the attribute axis on, merged into one.
func softmax(build func(b *graph.Builder, x graph.Value, axis int) graph.Value) func(*op) {
	return func(o *op) {
		x, in := o.tensor(0)
		rank := len(in)
		if o.opset >= 13 {
			o.result(0, build(o.Builder, x, o.axis(o.intAttr("axis", -1), rank)))
			return
		}
		axis := o.axis(o.intAttr("axis", 1), rank)
		flat := slices.Clone(in)
		if axis != rank-1 {
			flat = []int{graph.Size(in[:axis]), graph.Size(in[axis:])}
		}
		o.result(0, o.Reshape(build(o.Builder, o.Reshape(x, flat), len(flat)-1), in))
	}
}

// lowerRMSNorm also reads SimplifiedLayerNormalization, the name that ONNX Runtime gave to
// RMSNormalization before ONNX had it.
func lowerRMSNorm(o *op) {
	x := o.in(0)
	rank := len(o.shape(x))
	axes := upTo(o.axis(o.intAttr("axis", -1), rank), rank)
	o.ignore("stash_type")
	o.result(0, o.Mul(o.Norm(graph.Norm{Axes: axes, Epsilon: o.floatAttr("epsilon", 1e-5)}, x), o.in(1)))
}

// lowerLayerNorm also returns the mean and the inverse deviation, if the node has these
// outputs and something reads them.
func lowerLayerNorm(o *op) {
	x := o.in(0)
	rank := len(o.shape(x))
	axis := o.axis(o.intAttr("axis", -1), rank)
	eps := o.floatAttr("epsilon", 1e-5)
	o.ignore("stash_type")
	o.result(0, o.LayerNorm(x, axis, eps, o.in(1), o.optional(2)...))
	axes := upTo(axis, rank)
	mean := o.Reduce(graph.Mean, x, axes, true)
	if o.wanted(1) {
		o.result(1, mean)
	}
	if o.wanted(2) {
		centred := o.Sub(x, mean)
		variance := o.Reduce(graph.Mean, o.Mul(centred, centred), axes, true)
		o.result(2, o.Apply(graph.Pow, o.Add(variance, o.Number(eps)), -0.5))
	}
}

package onnx

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
)

// modernise drops attributes that only operator sets before 7 have and that do not
// matter.
func (o *op) modernise() {
	o.ignore("consumed_inputs")
	switch o.proto.GetOpType() {
	case "BatchNormalization", "Dropout":
		o.ignore("is_test")
	case "Gemm":
		o.ignore("broadcast")
	case "RNN", "GRU", "LSTM":
		o.ignore("output_sequence") // all outputs are there; those that nothing reads cost nothing
	}
}

// second returns the second operand of a node whose first one is x. Before operator set
// 7, attributes say from which axis of the first operand on the second one broadcasts.
func (o *op) second(x graph.Value) graph.Value {
	y := o.in(1)
	if o.opset >= 7 {
		return y
	}
	broadcast := o.flagAttr("broadcast", false)
	sx, sy := o.shape(x), o.shape(y)
	if o.proto.GetOpType() == "PRelu" {
		if len(sy) == 1 && sy[0] > 1 && len(sx) > 2 { // a slope for each channel
			return o.Reshape(y, append(slices.Clone(sy), slices.Repeat([]int{1}, len(sx)-2)...))
		}
		return y
	}
	if o.attrs["axis"] == nil || !broadcast {
		o.ignore("axis")
		return y
	}
	axis := o.axis(o.intAttr("axis", 0), len(sx))
	if behind := len(sx) - axis - len(sy); behind > 0 {
		return o.Reshape(y, append(slices.Clone(sy), slices.Repeat([]int{1}, behind)...))
	}
	return y
}

// tile is Tile before operator set 6, which repeats one axis.
func (o *op) tile() graph.Value {
	o.failIf(!o.has(2), "has no axis")
	x := o.in(0)
	rank := len(o.shape(x))
	tiles, axis := o.scalarInput(1, "the number of tiles"), o.scalarInput(2, "the axis")
	o.failIf(tiles < 1 || tiles > graph.MaxElements, "%v tiles", tiles)
	repeats := slices.Repeat([]int{1}, rank)
	repeats[o.axis(int64(axis), rank)] = int(tiles)
	return o.Tile(x, repeats)
}

// upsampleScales returns the scales of Upsample before operator set 7, whose input is a
// batch of pictures.
func (o *op) upsampleScales(rank int) []float64 {
	o.failIf(rank != 4, "its input has %d axes, not 4", rank)
	return []float64{1, 1, o.floatAttr("height_scale", 0), o.floatAttr("width_scale", 0)}
}

// batchNormOfEach is BatchNormalization with spatial = 0, in operator sets before 9: it
// has statistics for each element of a sample.
func (o *op) batchNormOfEach(eps float64) graph.Value {
	x, in := o.tensor(0)
	for i := 1; i < 5; i++ {
		if s := o.shape(o.in(i)); len(in) < 2 || !slices.Equal(s, in[1:]) {
			o.failf("input %d has shape %v for samples of an input of shape %v", i, s, in)
		}
	}
	scale := o.Mul(o.in(1), o.Apply(graph.Pow, o.Add(o.in(4), o.Number(eps)), -0.5))
	return o.Add(o.Mul(x, scale), o.Sub(o.in(2), o.Mul(o.in(3), scale)))
}

// Operators that exist only in operator set 1.

// affine is alpha·x + beta.
func (o *op) affine(x graph.Value, alpha, beta float64) graph.Value {
	return o.Add(o.Mul(x, o.Number(alpha)), o.Number(beta))
}

// stretched is the lowering of alpha·f(beta·x).
func stretched(f *graph.Function) func(*op) {
	return func(o *op) {
		alpha := o.floatAttr("alpha", 1)
		o.result(0, o.Mul(o.Apply(f, o.Mul(o.in(0), o.Number(o.floatAttr("beta", 1)))), o.Number(alpha)))
	}
}

// lowerImageScaler scales a picture and adds a number to each channel.
func lowerImageScaler(o *op) {
	x, in := o.tensor(0)
	y := o.Mul(x, o.Number(o.floatAttr("scale", 1)))
	if bias := o.floatsAttr("bias"); bias != nil {
		o.failIf(len(in) != 4 || len(bias) != in[1], "%d biases for an input of shape %v", len(bias), in)
		y = o.Add(y, o.numbers([]int{len(bias), 1, 1}, bias))
	}
	o.result(0, y)
}

// lowerCrop cuts a border off a picture, or a window out of it: border is left, top,
// right, bottom, and scale the height and width of the window.
func lowerCrop(o *op) {
	x, in := o.tensor(0)
	border, window := o.intsAttr("border"), o.intsAttr("scale")
	o.failIf(len(in) != 4 || len(border) != 4 || window != nil && len(window) != 2,
		"border %v and scale %v for an input of shape %v", border, window, in)
	for k, axis := range []int{3, 2} {
		from, to := border[k], int64(in[axis])-border[k+2]
		if window != nil {
			to = from + window[1-k]
		}
		o.failIf(from < 0 || to <= from || to > int64(in[axis]),
			"border %v and scale %v leave nothing of shape %v, or are beyond it", border, window, in)
		x = o.SliceAxis(x, axis, int(from), 1, int(to-from))
	}
	o.result(0, x)
}

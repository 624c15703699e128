package onnx

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
)

// Operators on quantised values. These are whole numbers, which a proof represents exactly.
// Scales and zero points are constants, except where a computed one is accepted below.

// scaled reshapes a scale or a zero point, of a tensor of shape in, so that it broadcasts
// to the tensor. It has one number, one for each index along axis, or one for each block
// of that many indices along axis.
func (o *op) scaled(v graph.Value, in []int, axis, block int) graph.Value {
	s := o.shape(v)
	switch {
	case graph.Size(s) == 1:
		return o.Reshape(v, []int{})
	case axis < 0 || axis >= len(in):
		o.failf("a scale or zero point of shape %v for shape %v, which has no axis %d", s, in, axis)
	case block > 0:
		o.failIf(len(s) != len(in) || s[axis]*block < in[axis], "blocks of %d of shape %v for shape %v", block, s, in)
		o.room(in[axis])
		return o.Gather(v, axis, filled(in[axis], func(i int) int { return i / block }))
	case len(s) != 1 || s[0] != in[axis]:
		o.failf("a scale or zero point of shape %v for axis %d of shape %v", s, axis, in)
	}
	shape := slices.Repeat([]int{1}, len(in)-axis)
	shape[0] = in[axis]
	return o.Reshape(v, shape)
}

// fixedInput returns input i, which must be constant.
func (o *op) fixedInput(i int, what string) graph.Value {
	o.constantInput(i, what)
	return o.in(i)
}

// isResult reports whether output i of the node is an output of the model.
func (o *op) isResult(i int) bool {
	return i < len(o.proto.Output) && slices.Contains(o.file.outputs, o.proto.Output[i])
}

// fewBits refuses types other than integers of at most 16 bits, of which a proof can
// distinguish all values.
func (o *op) fewBits(dt graph.DType) {
	o.failIf(dt.IsFloat() || dt.Bits() > 16, "quantised values of type %v are not supported", dt)
}

// quantised is round(x/scale) + zero point, clamped to type dt. Without saturate, what is too large for a float8
// is infinite or NaN.
func (o *op) quantised(x, scale, zero graph.Value, dt graph.DType, saturate bool) graph.Value {
	y := o.Div(x, scale)
	if !dt.Small() {
		o.fewBits(dt)
		y = o.Apply(graph.Round, y)
	}
	if o.Valid(zero) {
		y = o.Add(y, o.Cast(zero, graph.Float))
	}
	if dt.Small() {
		return o.CastTo(y, dt, saturate)
	}
	return o.clampedTo(y, dt)
}

// clampedTo clamps whole numbers to an integer type.
func (o *op) clampedTo(y graph.Value, dt graph.DType) graph.Value {
	lo, hi := dt.Bounds()
	return o.Whole(o.Clip(y, float64(lo), float64(hi)), dt)
}

// dequantised is x − zero point, as floats that are whole numbers. It is not multiplied
// by the scale.
func (o *op) dequantised(x, zero graph.Value) graph.Value {
	x = o.Cast(x, graph.Float)
	if o.Valid(zero) {
		x = o.Sub(x, o.Cast(zero, graph.Float))
	}
	return x
}

// lowerQuantizeLinear takes the result's type from the zero point, else from output_dtype, else it
// is uint8.
func lowerQuantizeLinear(o *op) {
	x, in := o.tensor(0)
	axis, block := int(o.intAttr("axis", 1)), int(o.intAttr("block_size", 0))
	saturate := o.flagAttr("saturate", true)
	o.ignore("precision")
	dt := graph.DType(o.intAttr("output_dtype", 0))
	o.failIf(dt != 0 && !dt.Known(), "output_dtype is %v", dt)
	// With a computed scale the integers may be off by one. That is acceptable for other nodes
	// that read them, but not for an output of the model.
	constant := func(i int, what string) graph.Value {
		if o.isResult(0) {
			return o.fixedInput(i, what)
		}
		return o.in(i)
	}
	scale := o.Cast(constant(1, "the scale"), graph.Float)
	var zero graph.Value
	if o.has(2) {
		zero = constant(2, "the zero point")
		dt = o.DType(zero)
	}
	if dt == 0 {
		dt = graph.Uint8
	}
	if graph.Size(o.shape(scale)) > 1 {
		axis = o.axis(int64(axis), len(in))
	}
	scale = o.scaled(scale, in, axis, block)
	if o.Valid(zero) {
		zero = o.scaled(zero, in, axis, block)
	}
	o.result(0, o.quantised(o.Cast(x, graph.Float), scale, zero, dt, saturate))
}

func lowerDequantizeLinear(o *op) {
	x, in := o.tensor(0)
	axis, block := int(o.intAttr("axis", 1)), int(o.intAttr("block_size", 0))
	o.ignore("output_dtype")
	scale := o.in(1)
	if graph.Size(o.shape(scale)) > 1 {
		axis = o.axis(int64(axis), len(in))
	}
	var zero graph.Value
	if o.has(2) {
		zero = o.scaled(o.in(2), in, axis, block)
	}
	o.result(0, o.Mul(o.dequantised(x, zero), o.Cast(o.scaled(scale, in, axis, block), graph.Float)))
}

// zeroPoint returns input i, if it is present: the zero point of an operand of shape in,
// one number or one for each index along an axis.
func (o *op) zeroPoint(i int, in []int, axis int) graph.Value {
	if !o.has(i) {
		return graph.Value{}
	}
	return o.scaled(o.in(i), in, axis, 0)
}

func lowerMatMulInteger(o *op) {
	a, b := o.in(0), o.in(1)
	sa, sb := o.shape(a), o.shape(b)
	x := o.dequantised(a, o.zeroPoint(2, sa, max(len(sa)-2, 0)))
	y := o.dequantised(b, o.zeroPoint(3, sb, len(sb)-1))
	o.result(0, o.Whole(o.MatMul(x, y), graph.Int32))
}

func lowerConvInteger(o *op) {
	o.result(0, o.Whole(o.wholeConv(1, 2, 3), graph.Int32))
}

// wholeConv is the convolution, in whole numbers, of input 0 with the weights of input
// w, whose zero points are inputs zx and zw.
func (o *op) wholeConv(w, zx, zw int, bias ...graph.Value) graph.Value {
	x, k := o.in(0), o.in(w)
	sx, sk := o.shape(x), o.shape(k)
	o.failIf(len(sx) < 3 || len(sk) != len(sx), "input and weights have shapes %v and %v", sx, sk)
	o.ignore("kernel_shape")
	window, _ := o.window(sx[2:], sk[2:])
	group := int(o.intAttr("group", 1))
	return o.convolve(window, group, o.dequantised(x, o.zeroPoint(zx, sx, 1)), o.dequantised(k, o.zeroPoint(zw, sk, 0)), bias...)
}

// requantised rescales sums of whole numbers, which have the product of scales as their
// scale, to the scale to, and adds the zero point.
func (o *op) requantised(sum graph.Value, scales []graph.Value, to, zero graph.Value) graph.Value {
	factor := o.Cast(scales[0], graph.Float)
	for _, s := range scales[1:] {
		factor = o.Mul(factor, o.Cast(s, graph.Float))
	}
	factor = o.Div(factor, o.Cast(to, graph.Float))
	dt := o.DType(zero)
	if t := o.Tensor(factor); t.Len() == 1 && t.At(0) > 0 {
		o.fewBits(dt)
		return o.clampedTo(o.Add(o.Rescale(sum, t.At(0)), o.Cast(zero, graph.Float)), dt)
	}
	return o.quantised(o.Mul(sum, factor), o.Number(1), zero, dt, true)
}

func lowerQLinearMatMul(o *op) {
	a, b := o.in(0), o.in(3)
	sa, sb := o.shape(a), o.shape(b)
	rows, columns := max(len(sa)-2, 0), len(sb)-1
	sum := o.MatMul(o.dequantised(a, o.zeroPoint(2, sa, rows)), o.dequantised(b, o.zeroPoint(5, sb, columns)))
	out := o.shape(sum)
	last := max(len(out)-1, 0)
	scales := []graph.Value{
		o.scaled(o.fixedInput(1, "the scale"), sa, rows, 0), o.scaled(o.fixedInput(4, "the scale"), out, last, 0),
	}
	to, zero := o.scaled(o.fixedInput(6, "the scale"), out, last, 0), o.scaled(o.fixedInput(7, "the zero point"), out, last, 0)
	o.result(0, o.requantised(sum, scales, to, zero))
}

func lowerQLinearConv(o *op) {
	float := func(bias graph.Value) graph.Value { return o.Cast(bias, graph.Float) }
	sum := o.wholeConv(3, 2, 5, each(o.optional(8), float)...)
	sx := o.shape(o.in(0))
	scales := []graph.Value{o.scaled(o.fixedInput(1, "the scale"), sx, 1, 0), o.scaled(o.fixedInput(4, "the scale"), o.shape(sum), 1, 0)}
	to, zero := o.scaled(o.fixedInput(6, "the scale"), sx, 1, 0), o.scaled(o.fixedInput(7, "the zero point"), sx, 1, 0)
	o.result(0, o.requantised(sum, scales, to, zero))
}

// lowerDynamicQuantize returns whole numbers on a scale that follows from the input, as
// quantised models use before MatMulInteger. If they are outputs of the model they are
// computed as 255·x/(hi − lo), rounded once, and up if two numbers are equally near. Float32
// arithmetic, which rounds the scale and the quotient too, may differ by one for a number
// near half-way between two whole numbers.
func lowerDynamicQuantize(o *op) {
	x := o.in(0)
	all := upTo(0, len(o.shape(x)))
	lo, hi := o.Clip(o.ReduceMin(x, all, false), math.Inf(-1), 0), o.Clip(o.ReduceMax(x, all, false), 0, math.Inf(1))
	reach := o.Sub(hi, lo)
	whole := func(v graph.Value) graph.Value { return o.Clip(v, 0, 255) }
	scale := o.Mul(reach, o.Number(1./255))
	one := func(v graph.Value) graph.Value { // v, but 1 instead of 0: for an x of zeros
		return o.Add(v, o.Cast(o.Test(graph.IsZero, v), graph.Float))
	}
	var steps func(v graph.Value) graph.Value
	if o.isResult(0) || o.isResult(2) {
		steps = func(v graph.Value) graph.Value { return o.RoundDiv(v, reach, 255) }
		scale = one(scale)
	} else {
		scale = one(scale)
		steps = func(v graph.Value) graph.Value { return o.Apply(graph.Round, o.Div(v, scale)) }
	}
	zero := whole(steps(o.Negative(lo)))
	y := whole(o.Add(steps(x), zero))
	o.result(0, o.Whole(y, graph.Uint8))
	o.result(1, scale)
	o.result(2, o.Whole(zero, graph.Uint8))
}

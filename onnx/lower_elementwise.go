package onnx

import (
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// computed is the lowering of an operator with one output, which output builds.
func computed(output func(o *op) graph.Value) func(*op) {
	return func(o *op) { o.result(0, output(o)) }
}

// first is the first input.
func first(o *op) graph.Value { return o.in(0) }

// oneInput is the lowering of an operator with one input.
func oneInput(build func(b *graph.Builder, x graph.Value) graph.Value) func(*op) {
	return func(o *op) { o.result(0, build(o.Builder, o.in(0))) }
}

// twoInputs is the lowering of an operator with two inputs.
func twoInputs(build func(b *graph.Builder, x, y graph.Value) graph.Value) func(*op) {
	return func(o *op) {
		x := o.in(0)
		o.result(0, build(o.Builder, x, o.second(x)))
	}
}

// chained is the lowering of an operator that combines all inputs from left to right.
func chained(combine func(b *graph.Builder, x, y graph.Value) graph.Value) func(*op) {
	return computed(func(o *op) graph.Value {
		v := o.in(0)
		for i := 1; i < len(o.proto.Input); i++ {
			v = combine(o.Builder, v, o.in(i))
		}
		return v
	})
}

func lowerMean(o *op) {
	sum := o.in(0)
	for _, x := range o.inputs(1) {
		sum = o.Add(sum, x)
	}
	if n := len(o.proto.Input); n > 1 {
		sum = o.Mul(sum, o.Number(1/float64(n)))
	}
	o.result(0, sum)
}

// lowerClip reads its bounds from constant inputs, or before operator set 11 from
// attributes.
func lowerClip(o *op) {
	lo, hi := o.floatAttr("min", math.Inf(-1)), o.floatAttr("max", math.Inf(1))
	o.result(0, o.Clip(o.in(0), o.boundOr(1, "min", lo), o.boundOr(2, "max", hi)))
}

// comparison is the lowering of an operator whose result is bool.
func comparison(c graph.Comparison) func(*op) {
	return twoInputs(func(b *graph.Builder, x, y graph.Value) graph.Value { return b.Compare(c, x, y) })
}

// lowerShrink moves elements beyond ±lambd towards zero by bias, and sets the
// others to zero.
func lowerShrink(o *op) {
	x, bias := o.in(0), o.Number(o.floatAttr("bias", 0))
	lambda := o.floatAttr("lambd", 0.5)
	o.failIf(lambda < 0, "attribute lambd is %v", lambda)
	y := o.Where(o.Compare(graph.Greater, x, o.Number(lambda)), o.Sub(x, bias), o.Number(0))
	o.result(0, o.Where(o.Compare(graph.Less, x, o.Number(-lambda)), o.Add(x, bias), y))
}

func lowerThresholdedRelu(o *op) {
	x := o.in(0)
	o.result(0, o.Where(o.Compare(graph.Greater, x, o.Number(o.floatAttr("alpha", 1))), x, o.Number(0)))
}

// lowerFunction is the lowering of a function of each element. Its parameters are float
// attributes.
func lowerFunction(o *op, f *graph.Function) {
	params := filled(len(f.Params), func(i int) float64 { return o.floatAttr(f.Params[i].Name, f.Params[i].Default) })
	o.result(0, o.Apply(f, o.in(0), params...))
}

func lowerGelu(o *op) {
	tanh := choiceAttr(o, "approximate", "none", map[string]float64{"none": 0, "tanh": 1})
	o.result(0, o.Apply(graph.Gelu, o.in(0), tanh))
}

func lowerCast(o *op) {
	o.ignore("round_mode") // matters only for Float8E8M0
	if a := o.attrs["to"]; o.opset < 6 && a.GetType() == onnxpb.AttributeProto_STRING {
		o.result(0, o.Cast(o.in(0), typeNames[o.strAttr("to", "")]))
		return
	}
	to := graph.DType(o.intAttr("to", 0))
	o.result(0, o.narrowed(o.CastTo(o.in(0), to, o.flagAttr("saturate", true)), to))
}

// lowerCastLike takes the type of its second input.
func lowerCastLike(o *op) {
	o.ignore("round_mode")
	o.result(0, o.CastTo(o.in(0), o.DType(o.in(1)), o.flagAttr("saturate", true)))
}

// typeNames has the element types by the names that Cast uses before operator set 6.
var typeNames = map[string]graph.DType{
	"FLOAT": graph.Float, "DOUBLE": graph.Double, "FLOAT16": graph.Float16, "BOOL": graph.Bool, "UINT8": graph.Uint8, "INT8": graph.Int8,
	"UINT16": graph.Uint16, "INT16": graph.Int16, "UINT32": graph.Uint32, "INT32": graph.Int32, "UINT64": graph.Uint64, "INT64": graph.Int64,
}

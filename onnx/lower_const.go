package onnx

import (
	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/onnx/onnxpb"

	"slices"
)

// tensorAttr decodes a tensor attribute, or returns nil.
func (o *op) tensorAttr(name string) *graph.Tensor {
	a := o.attr(name, onnxpb.AttributeProto_TENSOR)
	if a == nil {
		return nil
	}
	o.failIf(a.T == nil, "attribute %s is empty", name)
	var t *graph.Tensor
	refuse.Within("attribute "+name, func() { t = o.narrows.exact(decode(a.T, o.file.source.external), a.T) })
	t.Public = t.Len() == 1 // attributes are part of the architecture, but longer tensors may be weights
	return t
}

// numbersTensor is tensorAttr for a tensor whose numbers must be finite.
func (o *op) numbersTensor(name string) *graph.Tensor {
	t := o.tensorAttr(name)
	if t != nil {
		if i := graph.FirstNonFinite(t.F32); i >= 0 {
			o.failf("element %d of attribute %s is %v", i, name, t.F32[i])
		}
	}
	return t
}

// lowerConstant reads the one attribute that has the value. Lists of more than one float may be
// weights, so they are not Public.
func lowerConstant(o *op) {
	switch {
	case o.attrs["value"] != nil:
		o.result(0, o.Constant("", o.tensorAttr("value")))
	case o.attrs["value_float"] != nil:
		v := []float32{o.attr("value_float", onnxpb.AttributeProto_FLOAT).GetF()}
		o.result(0, o.Constant("", &graph.Tensor{Shape: []int{}, DType: graph.Float, F32: v, Public: true}))
	case o.attrs["value_int"] != nil:
		o.result(0, o.Integers([]int{}, []int64{o.intAttr("value_int", 0)}))
	case o.attrs["value_ints"] != nil:
		v := o.intsAttr("value_ints")
		o.result(0, o.Integers([]int{len(v)}, v))
	case o.attrs["value_floats"] != nil:
		v := append([]float32{}, o.attr("value_floats", onnxpb.AttributeProto_FLOATS).Floats...)
		o.result(0, o.Constant("", &graph.Tensor{Shape: []int{len(v)}, DType: graph.Float, F32: v, Public: len(v) == 1}))
	default:
		o.failf("has no value that can be read")
	}
}

func lowerConstantOfShape(o *op) {
	value := o.tensorAttr("value")
	if value == nil {
		value = &graph.Tensor{DType: graph.Float, F32: []float32{0}, Public: true}
	}
	o.result(0, o.Fill(o.toShape(0, "the shape"), value))
}

// lowerRange counts from start to limit by delta.
func lowerRange(o *op) {
	start, limit, delta := o.scalarInput(0, "the start"), o.scalarInput(1, "the limit"), o.scalarInput(2, "the delta")
	o.result(0, o.Range(start, limit, delta, o.DType(o.in(0))))
}

// lowerNonZero lists the indices of a constant's elements that are not 0, a row for each
// axis. For a computed value their number would depend on the input.
func lowerNonZero(o *op) {
	t, shape := o.constantInput(0, "what it lists"), o.shape(o.in(0))
	rows := make([][]int64, len(shape))
	for i := range t.Len() {
		if t.At(i) == 0 {
			continue
		}
		for axis, rest := len(shape)-1, i; axis >= 0; axis-- {
			rows[axis] = append(rows[axis], int64(rest%shape[axis]))
			rest /= shape[axis]
		}
	}
	all := append([]int64{}, slices.Concat(rows...)...) // not nil, even if it has no elements
	o.result(0, o.Integers([]int{len(shape), len(all) / max(len(shape), 1)}, all))
}

func lowerShape(o *op) {
	in := o.shape(o.in(0))
	rank := int64(len(in))
	bound := func(name string, def int64) int64 {
		v := o.intAttr(name, def)
		if v < 0 {
			v += rank
		}
		return min(max(v, 0), rank)
	}
	start, end := bound("start", 0), bound("end", rank)
	o.result(0, o.integers(in[start:max(start, end)]))
}

// lowerRandom refuses operators that draw random numbers.
func lowerRandom(o *op) {
	o.failf("what it draws is random, and a proof is of one result: draw the numbers outside of the model, and give them as an input")
}

package onnx

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
)

// modernise takes attributes that operator sets before 7 have and later ones do
// without.
func (o *op) modernise() {
	o.ignore("consumed_inputs")
	switch o.proto.GetOpType() {
	case "BatchNormalization", "Dropout":
		o.ignore("is_test")
	case "Gemm":
		o.ignore("broadcast")
	}
}

// second returns the second operand of two. Before operator set 7 attributes say how
// it broadcasts: from an axis of the first one on.
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

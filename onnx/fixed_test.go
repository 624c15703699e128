package onnx

import (
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// What is fixed has the shape that the model declares: another one would be another model without a word.
func TestShapeOfFixed(t *testing.T) {
	declared := func(dims ...int64) *onnxpb.ValueInfoProto {
		shape := &onnxpb.TensorShapeProto{}
		for _, d := range dims {
			dim := &onnxpb.TensorShapeProto_Dimension{}
			if d > 0 {
				dim.Value = &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: d}
			} else {
				dim.Value = &onnxpb.TensorShapeProto_Dimension_DimParam{DimParam: "N"}
			}
			shape.Dim = append(shape.Dim, dim)
		}
		return &onnxpb.ValueInfoProto{Name: "y", Type: &onnxpb.TypeProto{Value: &onnxpb.TypeProto_TensorType{
			TensorType: &onnxpb.TypeProto_Tensor{ElemType: 1, Shape: shape}}}}
	}
	for _, c := range []struct {
		shape, want []int
		dims        []int64
	}{
		{shape: []int{1, 4}, dims: []int64{0, 4}, want: []int{1, 4}},
		{shape: []int{4, 1}, dims: []int64{0, 4}},
		{shape: []int{4}, dims: []int64{0, 4}},
		{shape: []int{1, 4}, dims: []int64{4}},
		{shape: nil, dims: []int64{2, 2}, want: []int{2, 2}},
		{shape: nil, dims: []int64{0}, want: []int{4}},
		{shape: nil, dims: []int64{3}},
		{shape: nil, dims: []int64{0, 2}},
	} {
		in := Input{Name: "y", Shape: c.shape, Values: make([]float64, 4)}
		err := refuse.Caught(func() { in.takeShape(declared(c.dims...)) })
		switch {
		case c.want == nil && (err == nil || !strings.Contains(err.Error(), "the model declares")):
			t.Errorf("%v for %v: %v", c.shape, c.dims, err)
		case c.want != nil && (err != nil || !slices.Equal(in.Shape, c.want)):
			t.Errorf("%v for %v: %v, %v", c.shape, c.dims, in.Shape, err)
		}
	}
}

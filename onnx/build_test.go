package onnx

import (
	"encoding/binary"
	"math"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// The functions below write models for tests.

// testModel is a model with float input x and output y.
func testModel(opset int64, nodes ...*onnxpb.NodeProto) *onnxpb.ModelProto {
	return &onnxpb.ModelProto{
		IrVersion:   8,
		OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: opset}},
		Graph: &onnxpb.GraphProto{
			Name:   "test",
			Node:   nodes,
			Input:  []*onnxpb.ValueInfoProto{testInput("x", 2, 3)},
			Output: []*onnxpb.ValueInfoProto{{Name: "y"}},
		},
	}
}

// testNode takes attributes as name, value pairs.
func testNode(op string, in, out []string, attrs ...any) *onnxpb.NodeProto {
	n := &onnxpb.NodeProto{OpType: op, Name: "n_" + out[0], Input: in, Output: out}
	for i := 0; i < len(attrs); i += 2 {
		a := &onnxpb.AttributeProto{Name: attrs[i].(string)}
		switch v := attrs[i+1].(type) {
		case int:
			a.Type, a.I = onnxpb.AttributeProto_INT, int64(v)
		case float64:
			a.Type, a.F = onnxpb.AttributeProto_FLOAT, float32(v)
		case string:
			a.Type, a.S = onnxpb.AttributeProto_STRING, []byte(v)
		case []string:
			a.Type = onnxpb.AttributeProto_STRINGS
			for _, s := range v {
				a.Strings = append(a.Strings, []byte(s))
			}
		case []int64:
			a.Type, a.Ints = onnxpb.AttributeProto_INTS, v
		case []float32:
			a.Type, a.Floats = onnxpb.AttributeProto_FLOATS, v
		case *onnxpb.TensorProto:
			a.Type, a.T = onnxpb.AttributeProto_TENSOR, v
		case onnxpb.AttributeProto_AttributeType:
			a.Type = v
		}
		n.Attribute = append(n.Attribute, a)
	}
	return n
}

func one(s string) []string { return []string{s} }

// testInput declares a float input; a string is a symbolic dimension, and nil
// an open one without a name.
func testInput(name string, dims ...any) *onnxpb.ValueInfoProto {
	s := &onnxpb.TensorShapeProto{}
	for _, d := range dims {
		p := &onnxpb.TensorShapeProto_Dimension{}
		switch d := d.(type) {
		case int:
			p.Value = &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: int64(d)}
		case string:
			p.Value = &onnxpb.TensorShapeProto_Dimension_DimParam{DimParam: d}
		}
		s.Dim = append(s.Dim, p)
	}
	return &onnxpb.ValueInfoProto{Name: name, Type: &onnxpb.TypeProto{Value: &onnxpb.TypeProto_TensorType{
		TensorType: &onnxpb.TypeProto_Tensor{ElemType: int32(graph.Float), Shape: s},
	}}}
}

func testFloats(name string, dims []int64, v ...float32) *onnxpb.TensorProto {
	raw := make([]byte, 0, 4*len(v))
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return &onnxpb.TensorProto{Name: name, Dims: dims, DataType: int32(graph.Float), RawData: raw}
}

func testInts(name string, v ...int64) *onnxpb.TensorProto {
	return &onnxpb.TensorProto{Name: name, Dims: []int64{int64(len(v))}, DataType: int32(graph.Int64), Int64Data: v}
}

func marshal(t testing.TB, m proto.Message) []byte {
	t.Helper()
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

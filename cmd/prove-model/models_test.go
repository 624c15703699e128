package main

import (
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"google.golang.org/protobuf/proto"

	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// mkmodel writes y = Relu(x·W + b) for x of shape (1, 4), y of shape (1, 3), or
// a variant of it that the command must refuse.
func mkmodel(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mkmodel KIND FILE")
	}
	m := smallModel()
	g := m.Graph
	switch args[0] {
	case "plain":
	case "other": // the same model but for one weight
		g.Initializer[0].FloatData[5] = 0.75
	case "pair": // of inputs, a and b, and of outputs: sum takes both, negative b alone
		m.Graph = pairGraph()
	case "picture": // x is one of 4 × 6 pixels, in three channels
		g.Node = []*onnxpb.NodeProto{node("GlobalAveragePool", "mean", []string{"x"}, "y")}
		g.Initializer, g.Input[0], g.Output[0] = nil, value("x", 1, 3, 4, 6), value("y", 1, 3, 1, 1)
		g.Input[0].Type.GetTensorType().Shape.Dim[0].Value = &onnxpb.TensorShapeProto_Dimension_DimParam{DimParam: "batch"}
	case "unsupported":
		g.Node[1].OpType = "Frobnicate"
		g.Node = append(g.Node, node("Gyrate", "second", []string{"y"}, "z"))
		g.Output[0].Name = "z"
	case "attribute":
		g.Node[0].Attribute = []*onnxpb.AttributeProto{{Name: "gamma", Type: onnxpb.AttributeProto_FLOAT, F: 2}}
	case "nan":
		g.Initializer[0].FloatData[7] = float32(math.NaN())
	case "infinite":
		g.Initializer[1].FloatData[0] = float32(math.Inf(1))
	case "open": // a symbolic dimension that is not the leading one
		dims := g.Input[0].Type.GetTensorType().Shape.Dim
		dims[1].Value = &onnxpb.TensorShapeProto_Dimension_DimParam{DimParam: "features"}
	case "huge":
		g.Initializer[0].Dims = []int64{1 << 40, 1 << 40}
	case "negative":
		g.Initializer[0].Dims = []int64{-4, -3}
	case "cycle":
		g.Node[0].Input[0] = "y"
	case "external": // data outside of the model's folder
		w := g.Initializer[0]
		w.FloatData, w.DataLocation = nil, onnxpb.TensorProto_EXTERNAL
		w.ExternalData = []*onnxpb.StringStringEntryProto{{Key: "location", Value: "../../../etc/passwd"}}
	case "outside": // data in another file, of the same name and .bin
		w, file := g.Initializer[0], strings.TrimSuffix(args[1], ".onnx")+".bin"
		var data []byte
		for _, x := range w.FloatData {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
		}
		ts.Check(os.WriteFile(ts.MkAbs(file), data, 0o644))
		w.FloatData, w.DataLocation = nil, onnxpb.TensorProto_EXTERNAL
		w.ExternalData = []*onnxpb.StringStringEntryProto{{Key: "location", Value: file}}
	default:
		ts.Fatalf("unknown kind %s", args[0])
	}
	data, err := proto.Marshal(m)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), data, 0o644))
}

func smallModel() *onnxpb.ModelProto {
	w := tensor("W", 4, 3)
	for i := range w.FloatData {
		w.FloatData[i] = float32(i)/8 - 0.5
	}
	return &onnxpb.ModelProto{
		IrVersion:   8,
		OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: 17}},
		Graph: &onnxpb.GraphProto{
			Name:        "small",
			Node:        []*onnxpb.NodeProto{node("Gemm", "product", []string{"x", "W", "b"}, "p"), node("Relu", "", []string{"p"}, "y")},
			Initializer: []*onnxpb.TensorProto{w, tensor("b", 3)},
			Input:       []*onnxpb.ValueInfoProto{value("x", 1, 4)},
			Output:      []*onnxpb.ValueInfoProto{value("y", 1, 3)},
		},
	}
}

func pairGraph() *onnxpb.GraphProto {
	return &onnxpb.GraphProto{
		Name:   "pair",
		Node:   []*onnxpb.NodeProto{node("Add", "", []string{"a", "b"}, "sum"), node("Neg", "", []string{"b"}, "negative")},
		Input:  []*onnxpb.ValueInfoProto{value("a", 1, 1), value("b", 1, 2)},
		Output: []*onnxpb.ValueInfoProto{value("sum", 1, 2), value("negative", 1, 2)},
	}
}

// mkpicture writes a picture whose left half is red and whose right half is blue.
func mkpicture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: mkpicture FILE WIDTH HEIGHT")
	}
	w, h := number(ts, args[1]), number(ts, args[2])
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := color.RGBA{255, 0, 0, 255}
			if 2*x >= w {
				c = color.RGBA{0, 0, 255, 255}
			}
			m.SetRGBA(x, y, c)
		}
	}
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(errors.Join(png.Encode(f, m), f.Close()))
}

// largeModel is a product with width by width weights, enough work to interrupt.
func largeModel(width int64) *onnxpb.ModelProto {
	m := smallModel()
	w := tensor("W", width, width)
	for i := range w.FloatData {
		w.FloatData[i] = float32(i%7) - 3
	}
	m.Graph.Initializer = []*onnxpb.TensorProto{w, tensor("b", width)}
	m.Graph.Input[0], m.Graph.Output[0] = value("x", 1, width), value("y", 1, width)
	return m
}

func node(op, name string, inputs []string, output string) *onnxpb.NodeProto {
	return &onnxpb.NodeProto{OpType: op, Name: name, Input: inputs, Output: []string{output}}
}

// tensor returns a float tensor of zeros.
func tensor(name string, dims ...int64) *onnxpb.TensorProto {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	return &onnxpb.TensorProto{Name: name, Dims: dims, DataType: 1, FloatData: make([]float32, n)}
}

func value(name string, dims ...int64) *onnxpb.ValueInfoProto {
	shape := &onnxpb.TensorShapeProto{}
	for _, d := range dims {
		shape.Dim = append(shape.Dim, &onnxpb.TensorShapeProto_Dimension{Value: &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: d}})
	}
	return &onnxpb.ValueInfoProto{Name: name, Type: &onnxpb.TypeProto{Value: &onnxpb.TypeProto_TensorType{
		TensorType: &onnxpb.TypeProto_Tensor{ElemType: 1, Shape: shape},
	}}}
}

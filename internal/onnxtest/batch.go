// Package onnxtest reads ONNX models in ways that only tests need.
package onnxtest

import (
	"bytes"
	"os"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/onnx"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// OpenBatch reads an operator's model, leaves the leading axis of all inputs open, and
// makes the graph for a batch of two. It returns nil if an input has no axes, or the
// model cannot be read with such a batch.
func OpenBatch(t *testing.T, path string) *graph.Graph {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m := &onnxpb.ModelProto{}
	if err := proto.Unmarshal(data, m); err != nil {
		t.Fatal(err)
	}
	for _, in := range m.Graph.Input {
		dims := in.GetType().GetTensorType().GetShape().GetDim()
		if len(dims) == 0 {
			return nil
		}
		dims[0].Value = &onnxpb.TensorShapeProto_Dimension_DimParam{DimParam: "batch"}
	}
	if data, err = proto.Marshal(m); err != nil {
		t.Fatal(err)
	}
	fg, err := onnx.Parse(bytes.Clone(data), onnx.Options{Dims: map[string]int{"batch": 2}})
	if err != nil {
		return nil // for example because a constant has the size of the batch
	}
	return fg
}

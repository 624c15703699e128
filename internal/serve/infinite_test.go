package serve

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/serve/models"
	"github.com/prove-model/prove-model/internal/serve/receipt"
	"github.com/prove-model/prove-model/internal/serve/request"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// An output that is infinite is written as elsewhere, as a text, and its receipt and proof hold.
func TestInfiniteOutput(t *testing.T) {
	value := func(name string) *onnxpb.ValueInfoProto {
		four := &onnxpb.TensorShapeProto_Dimension{Value: &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: 4}}
		of := &onnxpb.TypeProto_Tensor{ElemType: 1, Shape: &onnxpb.TensorShapeProto{Dim: []*onnxpb.TensorShapeProto_Dimension{four}}}
		return &onnxpb.ValueInfoProto{Name: name, Type: &onnxpb.TypeProto{Value: &onnxpb.TypeProto_TensorType{TensorType: of}}}
	}
	data, err := proto.Marshal(&onnxpb.ModelProto{
		IrVersion: 8, OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: 20}},
		Graph: &onnxpb.GraphProto{
			Name: "least", Input: []*onnxpb.ValueInfoProto{value("x")}, Output: []*onnxpb.ValueInfoProto{value("y")},
			Initializer: []*onnxpb.TensorProto{
				{Name: "nought", DataType: 1, FloatData: []float32{0}}, {Name: "least", DataType: 1, FloatData: []float32{float32(math.Inf(-1))}},
			},
			Node: []*onnxpb.NodeProto{
				{OpType: "Greater", Name: "g", Input: []string{"x", "nought"}, Output: []string{"g"}},
				{OpType: "Where", Name: "w", Input: []string{"g", "x", "least"}, Output: []string{"y"}},
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := config.Default()
	c.Model, c.Calibration = filepath.Join(dir, "m.onnx"), []string{filepath.Join(dir, "x.json")}
	c.NoCache, c.SecurityBits, c.GrindBits = true, 30, 0
	for path, data := range map[string][]byte{c.Model: data, c.Calibration[0]: []byte(`[[1, -1, 2, -2]]`)} {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m, err := models.Open(context.Background(), "least", &c, nil, ui.NewPhases(io.Discard, true))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	r := start(t, false, Options{})
	if err := r.s.Add(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	status, _, body := r.do("POST", "/v2/models/least/infer", `{"inputs":[{"name":"x","shape":[4],"datatype":"FP64","data":[1,-1,2,-2]}]}`)
	var a struct {
		Outputs []struct{ Data request.Numbers }
		Receipt *receipt.Signed
	}
	if err := json.Unmarshal(body, &a); err != nil || status != http.StatusOK {
		t.Fatalf("status %d, %v: %s", status, err, body)
	}
	if y := a.Outputs[0].Data; !math.IsInf(y[1], -1) || a.Receipt.Outputs["y"] != receipt.Digest(y) {
		t.Errorf("%s", body)
	}
}

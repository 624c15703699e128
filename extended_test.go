package provemodel

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// maskedModel writes a model of scores x, of any batch, a mask m that is added to them, and
// their Softmax y; z is m where it is finite.
func maskedModel(t *testing.T) string {
	t.Helper()
	value := func(name string, elem int32) *onnxpb.ValueInfoProto {
		return &onnxpb.ValueInfoProto{Name: name, Type: &onnxpb.TypeProto{Value: &onnxpb.TypeProto_TensorType{
			TensorType: &onnxpb.TypeProto_Tensor{ElemType: elem, Shape: &onnxpb.TensorShapeProto{Dim: []*onnxpb.TensorShapeProto_Dimension{
				{Value: &onnxpb.TensorShapeProto_Dimension_DimParam{DimParam: "batch"}},
				{Value: &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: 4}},
			}}}}}}
	}
	node := func(op string, in []string, out string) *onnxpb.NodeProto {
		return &onnxpb.NodeProto{OpType: op, Name: out, Input: in, Output: []string{out}}
	}
	b, err := proto.Marshal(&onnxpb.ModelProto{
		IrVersion: 8, OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: 20}},
		Graph: &onnxpb.GraphProto{
			Name: "masked", Input: []*onnxpb.ValueInfoProto{value("x", 1), value("m", 1)},
			Output:      []*onnxpb.ValueInfoProto{value("y", 1), value("z", 1), value("w", 1)},
			Initializer: []*onnxpb.TensorProto{{Name: "nought", DataType: 1, FloatData: []float32{0}}},
			Node: []*onnxpb.NodeProto{
				node("Add", []string{"x", "m"}, "s"), node("Softmax", []string{"s"}, "y"),
				node("IsInf", []string{"m"}, "i"), node("Where", []string{"i", "nought", "m"}, "z"),
				node("Neg", []string{"s"}, "w"),
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "masked.onnx")
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestMaskedInput: a mask of −∞ that is an input, in batches of any size: proved, held
// against its input, and the key against its model. A key of finite masks is another one,
// and takes none of −∞; that of −∞ takes no NaN.
func TestMaskedInput(t *testing.T) {
	path, inf := maskedModel(t), math.Inf(1)
	arrays := func(mask ...float64) Arrays {
		var in Arrays
		for i, values := range [][]float64{{1, 2, 3, 4, 4, 3, 2, 1}, mask} {
			in = append(in, Arrays{{Name: []string{"x", "m"}[i], Shape: []int{len(mask) / 4, 4}, Values: values[:len(mask)]}}...)
		}
		return in
	}
	dir := t.TempDir()
	read := func(mask string) Arrays { // as a program does, which finds what numbers there are
		t.Helper()
		file := filepath.Join(dir, "in.json")
		if err := os.WriteFile(file, []byte(`{"x": [[1,2,3,4],[4,3,2,1]], "m": `+mask+`}`), 0o666); err != nil {
			t.Fatal(err)
		}
		in, err := ReadArrays(file)
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	commit := func(in, sampled Arrays) (*Committed, Input) {
		t.Helper()
		m, err := Open(path, &OpenOptions{Input: in, Samples: sampled})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		samples, err := m.Samples(in)
		if err != nil {
			t.Fatal(err)
		}
		circuit, err := Quantise(t.Context(), m, samples, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(circuit.Free()) != 1 {
			t.Error("the batch is not free")
		}
		c, err := Commit(t.Context(), circuit, commitWith(withSecurityBits(40), withGrindBits(2)))
		if err != nil {
			t.Fatal(err)
		}
		whole, err := m.Input(in)
		if err != nil {
			t.Fatal(err)
		}
		return c, whole
	}
	masks := read(`[[0, "-Infinity", 0.5, "-Infinity"], [0, 0, "-Infinity", -1]]`)
	c, in := commit(masks, nil)
	p, err := Prove(t.Context(), c, in, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Verify(c.Key(), bytes.NewReader(p.File), &VerifyOptions{MinBits: 1, Input: masks})
	if err != nil {
		t.Fatal(err)
	}
	y, z, w := s.Outputs[0].Values, s.Outputs[1].Values, s.Outputs[2].Values
	e := math.Exp(-2.5)
	for i, want := range []float64{e / (1 + e), 0, 1 / (1 + e), 0} {
		if math.Abs(y[i]-want) > 1e-3 || want == 0 && y[i] != 0 {
			t.Errorf("weight %d is %v, not %v", i, y[i], want)
		}
	}
	if z[1] != 0 || z[2] != 0.5 || w[1] != inf || math.Abs(w[2]+3.5) > 1e-3 || s.Inputs[1].Values[1] != -inf {
		t.Errorf("%v, %v of %v", z, w, s.Inputs[1].Values)
	}
	if err := CheckKey(t.Context(), path, c.Key(), nil); err != nil {
		t.Error(err)
	}
	for _, other := range []float64{-100, inf, math.NaN()} {
		if _, err := Verify(c.Key(), bytes.NewReader(p.File), &VerifyOptions{MinBits: 1, Input: arrays(0, other, 0.5, -inf, 0, 0, -inf, -1)}); !errors.Is(err, ErrOtherInput) {
			t.Errorf("a mask of %v: %v", other, err)
		}
	}
	if _, err := Prove(t.Context(), c, Input{in[0][:4], {0, math.NaN(), 0, 0}}, nil); err == nil {
		t.Error("NaN is accepted, for which there is no code")
	}
	if _, err := Prove(t.Context(), c, Input{in[0][:4], {-inf, -inf, -inf, 0}}, nil); err != nil {
		t.Error(err)
	}
	finite := read(`[[0, -3, 0.5, -3], [0, 0, -3, -1]]`)
	d, _ := commit(finite, nil)
	if d.Commitment() == c.Commitment() {
		t.Error("the key of finite masks is the same")
	}
	if _, err := Prove(t.Context(), d, in, nil); err == nil {
		t.Error("−∞ is accepted, for which there is no code")
	}
	if e, _ := commit(finite, masks); e.Commitment() == d.Commitment() {
		t.Error("samples with −∞ make no difference")
	}
}

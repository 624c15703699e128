package provemodel

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/prove-model/prove-model/onnx/onnxpb"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/prover"
)

// again returns the key of changed bytes: what a hostile issuer hands out.
func again(t *testing.T, c *Committed, change func(*Key)) *Key {
	t.Helper()
	key, err := ReadKey(bytes.NewReader(c.KeyFile()))
	if err != nil {
		t.Fatal(err)
	}
	change(key)
	b, err := proof.EncodeKey(key)
	if err != nil {
		t.Fatal(err)
	}
	if key, err = ReadKey(bytes.NewReader(b)); err != nil {
		t.Fatal(err)
	}
	return key
}

// A key is its model's whatever the options that it was made with, and however
// it was made.
func TestCheckKey(t *testing.T) {
	for name, opts := range map[string][]with{
		"default":   nil,
		"quick":     quick,
		"headroom":  {withHeadroom(1.1)},
		"johnson":   {withSoundness("johnson")},
		"poseidon2": {withHash("poseidon2")},
		"chunks":    {withBudget(1 << 20)},
		"from disk": {withCache(t.TempDir())},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				c, _ := commit(t, opts...)
				if err := CheckKey(t.Context(), digits+"digits.onnx", c.Key(), nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// Nothing is taken from the cache, and the weights are always committed to.
func TestCheckKeyWithoutCache(t *testing.T) {
	cache := withCache(t.TempDir())
	c, _ := commit(t, append(quick, cache)...)
	r := &recorder{t: t}
	if err := CheckKey(t.Context(), digits+"digits.onnx", c.Key(), &CheckKeyOptions{Observer: r}); err != nil {
		t.Error(err)
	}
	if want := []string{string(phaseHash), string(phaseQuantise), string(phaseCommitModel)}; !slices.Equal(r.log, want) {
		t.Errorf("%q", r.log)
	}
}

// A key that says it is the model's and is not, in any part.
func TestCheckKeyRefuses(t *testing.T) {
	c, _ := commit(t, quick...)
	for name, change := range map[string]func(*Key){
		"other weights":     func(k *Key) { k.Trees[0].Root[0] = (k.Trees[0].Root[0] + 1) % field.P },
		"a table's row":     func(k *Key) { piecewise(k).Pieces[0].Offset++ },
		"a shift":           func(k *Key) { k.Circuit.Graph.Tensors[0].Frac++ },
		"a name":            func(k *Key) { k.Circuit.Graph.Name += "x" },
		"another file":      func(k *Key) { k.Source.Files[0][31] ^= 1 },
		"one file more":     func(k *Key) { k.Source.Files = append(k.Source.Files, [32]byte{}) },
		"bits of weights":   func(k *Key) { k.Source.WeightBits = 5 },
		"bits of values":    func(k *Key) { k.Source.ActBits = 5 },
		"impossible bits":   func(k *Key) { k.Source.ActBits = 64 },
		"headroom":          func(k *Key) { k.Source.Headroom = 32 },
		"no ranges":         func(k *Key) { k.Source.Ranges = nil },
		"a range less":      func(k *Key) { k.Source.Ranges = k.Source.Ranges[3:] },
		"ranges exchanged":  func(k *Key) { r := k.Source.Ranges; slices.Reverse(r) },
		"ranges of nothing": func(k *Key) { clear(k.Source.Ranges) },
		"rows":              func(k *Key) { k.Trees[0].RowVars++ },
		"a bound":           func(k *Key) { k.Circuit.Free[0].Bound-- },
		"an input's name":   func(k *Key) { k.Circuit.Graph.Tensors[k.Circuit.Graph.Inputs[0]].Name += "x" },
		"a name of a batch": func(k *Key) { k.Circuit.Free[0].Name += "x" },
	} {
		t.Run(name, func(t *testing.T) {
			if err := CheckKey(t.Context(), digits+"digits.onnx", again(t, c, change), nil); !errors.Is(err, ErrOtherModel) {
				t.Errorf("%v", err)
			}
		})
	}
	// The length of the rows is the issuer's choice.
	q, sec := c.Circuit().quantised, c.Key().Security
	p, err := plan.WithRows(q.Graph, sec.Config(), c.Key().Trees[0].RowVars+1)
	if err != nil {
		t.Fatal(err)
	}
	key, _, err := prover.CommitPlanned(t.Context(), q.Circuit, p, q.Weights, sec, prover.Options{})
	if err == nil {
		err = key.SetSource(c.Key().Source)
	}
	if err == nil {
		err = CheckKey(t.Context(), digits+"digits.onnx", key, nil)
	}
	if err != nil || key.Trees[0].Root == c.Key().Trees[0].Root {
		t.Errorf("longer rows: %v", err)
	}
}

// Where there is no answer, none is given.
func TestCheckKeyNoAnswer(t *testing.T) {
	c, _ := commit(t, quick...)
	for name, change := range map[string]func(*Key){
		"no source":         func(k *Key) { k.Source = nil },
		"another quantiser": func(k *Key) { k.Source.Quantiser++ },
	} {
		if err := CheckKey(t.Context(), digits+"digits.onnx", again(t, c, change), nil); !errors.Is(err, ErrNoSource) || errors.Is(err, ErrOtherModel) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, path := range []string{"missing.onnx", digits} {
		if err := CheckKey(t.Context(), path, c.Key(), nil); err == nil || errors.Is(err, ErrOtherModel) {
			t.Errorf("%s: %v", path, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	for _, p := range []Phase{phaseHash, phaseQuantise, phaseCommitModel} {
		r := &recorder{t: t, at: p, do: cancel}
		if err := CheckKey(ctx, digits+"digits.onnx", c.Key(), &CheckKeyOptions{Observer: r}); !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted: %v", err)
		}
	}
	cancel()
}

func piecewise(k *Key) *model.Table {
	i := slices.IndexFunc(k.Circuit.Graph.Tables, func(t model.Table) bool { return t.Kind == model.TablePiecewise })
	return &k.Circuit.Graph.Tables[i]
}

// A model in several files is told by all of them.
func TestCheckKeyExternalData(t *testing.T) {
	dir := t.TempDir()
	path, data := filepath.Join(dir, "m.onnx"), filepath.Join(dir, "w.bin")
	writeExternal(t, path, "w.bin")
	weights := make([]byte, 4*4*4)
	for i := 3; i < len(weights); i += 4 {
		weights[i] = 0x3f // 0.5 in every place
	}
	if err := os.WriteFile(data, weights, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	circuit, err := Quantise(t.Context(), m, []Input{m.Random(1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Commit(t.Context(), circuit, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Key().Source.Files) != 2 {
		t.Errorf("%d files", len(c.Key().Source.Files))
	}
	if err := CheckKey(t.Context(), path, c.Key(), nil); err != nil {
		t.Error(err)
	}
	weights[7]++
	if err := os.WriteFile(data, weights, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := CheckKey(t.Context(), path, c.Key(), nil); !errors.Is(err, ErrOtherModel) {
		t.Error(err)
	}
	if err := os.Remove(data); err != nil {
		t.Fatal(err)
	}
	if err := CheckKey(t.Context(), path, c.Key(), nil); err == nil || errors.Is(err, ErrOtherModel) {
		t.Errorf("without a file: %v", err)
	}
}

// writeExternal writes y = Relu(x·W) with the 4 by 4 matrix W in another file.
func writeExternal(t *testing.T, path, data string) {
	t.Helper()
	value := func(name string) *onnxpb.ValueInfoProto {
		shape := &onnxpb.TensorShapeProto{}
		for _, d := range []int64{1, 4} {
			shape.Dim = append(shape.Dim, &onnxpb.TensorShapeProto_Dimension{Value: &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: d}})
		}
		return &onnxpb.ValueInfoProto{Name: name, Type: &onnxpb.TypeProto{Value: &onnxpb.TypeProto_TensorType{
			TensorType: &onnxpb.TypeProto_Tensor{ElemType: 1, Shape: shape},
		}}}
	}
	b, err := proto.Marshal(&onnxpb.ModelProto{
		IrVersion: 8, OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: 17}},
		Graph: &onnxpb.GraphProto{
			Name: "external",
			Node: []*onnxpb.NodeProto{
				{OpType: "MatMul", Name: "product", Input: []string{"x", "W"}, Output: []string{"p"}},
				{OpType: "Relu", Name: "relu", Input: []string{"p"}, Output: []string{"y"}},
			},
			Initializer: []*onnxpb.TensorProto{{
				Name: "W", Dims: []int64{4, 4}, DataType: 1, DataLocation: onnxpb.TensorProto_EXTERNAL,
				ExternalData: []*onnxpb.StringStringEntryProto{{Key: "location", Value: data}},
			}},
			Input: []*onnxpb.ValueInfoProto{value("x")}, Output: []*onnxpb.ValueInfoProto{value("y")},
		},
	})
	if err == nil {
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

package provemodel_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	provemodel "github.com/prove-model/prove-model"
)

// A folder becomes a model whose run is proved.
func TestPublished(t *testing.T) {
	ctx := context.Background()
	ids := provemodel.Arrays{{Name: "input_ids", Values: []float64{1, 5, 9, 33}}}
	m, err := provemodel.Open("hf/testdata/llama", provemodel.For(ids))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	in, err := m.Input(ids)
	if err != nil {
		t.Fatal(err)
	}
	c, err := provemodel.Quantise(ctx, m, []provemodel.Input{in}, provemodel.Mode("w8a8"))
	if err != nil {
		t.Fatal(err)
	}
	committed, err := provemodel.Commit(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	proof, err := provemodel.Prove(ctx, committed, in)
	if err != nil {
		t.Fatal(err)
	}
	key, err := provemodel.ReadKey(bytes.NewReader(committed.KeyFile()))
	if err != nil {
		t.Fatal(err)
	}
	v, err := provemodel.Verify(key, bytes.NewReader(proof.File), provemodel.For(ids))
	if err != nil {
		t.Fatal(err)
	}
	if out := v.Outputs[0]; out.Name != "logits" || len(out.Values) != 4*48 {
		t.Errorf("%s %v", out.Name, out.Shape)
	}
}

func TestTokens(t *testing.T) {
	ids := provemodel.Arrays{{Values: []float64{1, 5, 9, 33}}}
	for name, c := range map[string]struct {
		path string
		opts []provemodel.Option
		want string
	}{
		"said":      {"llama", []provemodel.Option{provemodel.Tokens(4)}, ""},
		"dimension": {"llama", []provemodel.Option{provemodel.Dims(map[string]int{"tokens": 4})}, ""},
		"both":      {"llama", []provemodel.Option{provemodel.Tokens(4), provemodel.For(ids)}, ""},
		"image":     {"vit", nil, ""},
		"none":      {"llama", nil, "--tokens N"},
		"others":    {"llama", []provemodel.Option{provemodel.Tokens(5), provemodel.For(ids)}, "the input has 4 tokens"},
		"two":       {"llama", []provemodel.Option{provemodel.Tokens(5), provemodel.Dims(map[string]int{"tokens": 4})}, "contradict"},
		"axis":      {"llama", []provemodel.Option{provemodel.Dims(map[string]int{"batch": 4})}, "no such dimension"},
		"many":      {"llama", []provemodel.Option{provemodel.Tokens(33)}, "takes 1 to 32"},
		"of images": {"vit", []provemodel.Option{provemodel.Tokens(4)}, "takes images"},
		"nothing":   {"..", []provemodel.Option{provemodel.Tokens(4)}, "neither model.safetensors"},
	} {
		m, err := provemodel.Open("hf/testdata/"+c.path, c.opts...)
		switch {
		case err == nil:
			m.Close()
			if c.want != "" {
				t.Errorf("%s: opened", name)
			}
		case c.want == "" || !strings.Contains(err.Error(), c.want):
			t.Errorf("%s: %v", name, err)
		}
	}
}

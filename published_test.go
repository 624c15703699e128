package provemodel_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	provemodel "github.com/prove-model/prove-model"
)

// A folder becomes a model whose run is proved.
func TestPublished(t *testing.T) {
	ctx := context.Background()
	ids := provemodel.Arrays{{Name: "input_ids", Values: []float64{1, 5, 9, 33}}}
	m, err := provemodel.Open("hf/testdata/llama", &provemodel.OpenOptions{Input: ids})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	in, err := m.Input(ids)
	if err != nil {
		t.Fatal(err)
	}
	c, err := provemodel.Quantise(ctx, m, []provemodel.Input{in}, &provemodel.QuantiseOptions{Mode: "w8a8"})
	if err != nil {
		t.Fatal(err)
	}
	committed, err := provemodel.Commit(ctx, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	proof, err := provemodel.Prove(ctx, committed, in, nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := provemodel.ReadKey(bytes.NewReader(committed.KeyFile()))
	if err != nil {
		t.Fatal(err)
	}
	v, err := provemodel.Verify(key, bytes.NewReader(proof.File), &provemodel.VerifyOptions{Input: ids})
	if err != nil {
		t.Fatal(err)
	}
	if out := v.Outputs[0]; out.Name != "logits" || len(out.Values) != 4*48 {
		t.Errorf("%s %v", out.Name, out.Shape)
	}
}

// One key is for every prompt up to the most tokens that it was made for, whatever was
// at hand when it was made.
func TestOneKeyForPrompts(t *testing.T) {
	const most = 7
	ctx, rng := context.Background(), rand.New(rand.NewPCG(70, 71))
	prompt := func(n int) provemodel.Arrays {
		ids := make([]float64, n)
		for i := range ids {
			ids[i] = float64(rng.IntN(48))
		}
		return provemodel.Arrays{{Name: "input_ids", Values: ids}}
	}
	quantise := func(ids provemodel.Arrays, ranges provemodel.Ranges) (*provemodel.Model, *provemodel.Circuit) {
		t.Helper()
		m, err := provemodel.Open("hf/testdata/llama", &provemodel.OpenOptions{Input: ids, Tokens: most})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		in, err := m.Input(ids)
		if err != nil {
			t.Fatal(err)
		}
		c, err := provemodel.Quantise(ctx, m, []provemodel.Input{in}, &provemodel.QuantiseOptions{Mode: "w8a8", Ranges: ranges})
		if err != nil {
			t.Fatal(err)
		}
		if free := c.Free(); len(free) != 1 || free[0].Bound != most {
			t.Fatalf("free dimensions %v: %v", free, c.Report().OneBatch)
		}
		return m, c
	}
	commit := func(c *provemodel.Circuit) *provemodel.Committed {
		t.Helper()
		committed, err := provemodel.Commit(ctx, c, &provemodel.CommitOptions{SecurityBits: 40, GrindBits: 2})
		if err != nil {
			t.Fatal(err)
		}
		return committed
	}
	m, c := quantise(prompt(4), nil)
	committed := commit(c)
	if _, other := quantise(prompt(2), c.Ranges()); commit(other).Commitment() != committed.Commitment() {
		t.Error("the key depends on the prompt that the model was opened for")
	}
	for _, n := range []int{1, 3, most} {
		ids := prompt(n)
		in, err := m.Input(ids)
		if err != nil {
			t.Fatal(err)
		}
		proof, err := provemodel.Prove(ctx, committed, in, nil)
		if err != nil {
			t.Fatal(err)
		}
		v, err := provemodel.Verify(committed.Key(), bytes.NewReader(proof.File), &provemodel.VerifyOptions{Input: ids, MinBits: 1})
		if err != nil {
			t.Fatal(err)
		}
		if shape := v.Outputs[0].Shape; !slices.Equal(shape, []int{1, n, 48}) {
			t.Errorf("%d tokens: logits of shape %v", n, shape)
		}
		other := provemodel.Arrays{{Name: "input_ids", Values: append(slices.Clone(ids[0].Values), 0)}}
		if _, err := provemodel.Verify(committed.Key(), bytes.NewReader(proof.File), &provemodel.VerifyOptions{Input: other, MinBits: 1}); !errors.Is(err, provemodel.ErrOtherInput) {
			t.Errorf("%d tokens pass for %d: %v", n, n+1, err)
		}
	}
	for n, why := range map[int]string{0: "0 tokens", most + 1: "8 tokens: the model was opened for 1 to 7"} {
		if _, err := m.Input(prompt(n)); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%d tokens: %v", n, err)
		}
		if _, err := provemodel.Prove(ctx, committed, provemodel.Input{make([]float64, n)}, nil); err == nil {
			t.Errorf("%d tokens: proved", n)
		}
	}
}

// Samples are texts by the shape of their array.
func TestTextSamples(t *testing.T) {
	m, err := provemodel.Open("hf/testdata/llama", &provemodel.OpenOptions{Tokens: 6})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, c := range []struct {
		shape []int
		n     int
		want  []int
	}{
		{nil, 4, []int{4}},
		{nil, 12, []int{6, 6}},
		{[]int{3, 4}, 12, []int{4, 4, 4}},
		{[]int{1, 5}, 5, []int{5}},
		{nil, 7, nil},
		{[]int{1, 7}, 7, nil},
	} {
		samples, err := m.Samples(provemodel.Arrays{{Values: make([]float64, c.n), Shape: c.shape}})
		var got []int
		for _, s := range samples {
			got = append(got, len(s[0]))
		}
		if (err == nil) != (c.want != nil) || !slices.Equal(got, c.want) {
			t.Errorf("%v, %d: texts of %v, %v", c.shape, c.n, got, err)
		}
	}
}

// Samples of texts have the logits where the model gives them: at all positions, or at the
// last ones.
func TestSamplesOfTexts(t *testing.T) {
	for name, c := range map[string]struct {
		opts  provemodel.OpenOptions
		texts [][]int
		at    [][]float64 // nil: there is no such input
	}{
		"all":     {provemodel.OpenOptions{Tokens: 6}, [][]int{{1, 2, 3}, {4}}, nil},
		"last":    {provemodel.OpenOptions{LogitsAt: 1, Tokens: 6}, [][]int{{1, 2, 3}, {4}}, [][]float64{{2}, {0}}},
		"written": {provemodel.OpenOptions{MaxTokens: 2, Tokens: 6}, [][]int{{1, 2, 3}, {4}}, [][]float64{{0, 1, 2}, {0}}},
		"long":    {provemodel.OpenOptions{Tokens: 6}, [][]int{{1, 2, 3, 4, 5, 6, 7}}, nil},
		"empty":   {provemodel.OpenOptions{Tokens: 6}, [][]int{{}}, nil},
	} {
		m, err := provemodel.Open("hf/testdata/llama", &c.opts)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		samples, err := m.TextSamples(c.texts)
		if name == "long" || name == "empty" {
			if err == nil {
				t.Errorf("%s: accepted", name)
			}
			continue
		}
		if err != nil || len(samples) != len(c.texts) {
			t.Fatal(name, samples, err)
		}
		for i, s := range samples {
			if len(s[0]) != len(c.texts[i]) || int(s[0][0]) != c.texts[i][0] || len(s) > 1 != (c.at != nil) || c.at != nil && !slices.Equal(s[1], c.at[i]) {
				t.Errorf("%s: sample %d is %v", name, i, s)
			}
		}
		if _, err := m.Run(t.Context(), samples[1]); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	m, err := provemodel.Open("hf/testdata/vit", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if _, err := m.TextSamples([][]int{{1}}); err == nil {
		t.Error("images are texts")
	}
}

func TestTokens(t *testing.T) {
	ids := provemodel.Arrays{{Values: []float64{1, 5, 9, 33}}}
	for name, c := range map[string]struct {
		path string
		opts *provemodel.OpenOptions
		want string
	}{
		"said":             {"llama", &provemodel.OpenOptions{Tokens: 4}, ""},
		"dimension":        {"llama", &provemodel.OpenOptions{Dims: map[string]int{"tokens": 4}}, ""},
		"both":             {"llama", &provemodel.OpenOptions{Tokens: 4, Input: ids}, ""},
		"image":            {"vit", nil, ""},
		"none":             {"llama", nil, "--tokens N"},
		"fewer":            {"llama", &provemodel.OpenOptions{Tokens: 5, Input: ids}, ""},
		"more":             {"llama", &provemodel.OpenOptions{Tokens: 3, Input: ids}, "the input has 4 tokens, and at most 3"},
		"negative":         {"llama", &provemodel.OpenOptions{Tokens: -1}, "takes 1 to 32"},
		"two":              {"llama", &provemodel.OpenOptions{Tokens: 5, Dims: map[string]int{"tokens": 4}}, "contradict"},
		"axis":             {"llama", &provemodel.OpenOptions{Dims: map[string]int{"batch": 4}}, "no such dimension"},
		"many":             {"llama", &provemodel.OpenOptions{Tokens: 33}, "takes 1 to 32"},
		"of images":        {"vit", &provemodel.OpenOptions{Tokens: 4}, "takes images"},
		"nowhere":          {"llama", &provemodel.OpenOptions{Tokens: 5, LogitsAt: 1, MaxTokens: 1}, "write nothing"},
		"negative at":      {"llama", &provemodel.OpenOptions{LogitsAt: -1}, "neither can be negative"},
		"logits of images": {"vit", &provemodel.OpenOptions{LogitsAt: 1}, "for language models"},
		"bound":            {"llama", &provemodel.OpenOptions{BindInput: ids}, "ONNX files only"},
		"outputs":          {"llama", &provemodel.OpenOptions{Outputs: []string{"logits"}}, "ONNX files only"},
		"not a text":       {"../../testdata/digits/digits.onnx", &provemodel.OpenOptions{Tokens: 4}, "4 tokens are asked for"},
		"no writer":        {"../../testdata/digits/digits.onnx", &provemodel.OpenOptions{MaxTokens: 4}, "an ONNX file has the outputs"},
		"no logits":        {"../../testdata/digits/digits.onnx", &provemodel.OpenOptions{LogitsAt: 4}, "an ONNX file has the outputs"},
		"nothing":          {"..", &provemodel.OpenOptions{Tokens: 4}, "neither model.safetensors"},
	} {
		m, err := provemodel.Open("hf/testdata/"+c.path, c.opts)
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

package provemodel

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof"
)

const (
	adaptedModel = "hf/testdata/llama"
	itsAdapter   = "hf/families/testdata/adapters/llama"
)

// TestAdaptersQuantised holds adapters against PEFT: those of testdata, or of PROVE_MODEL_ADAPTERS, to models of PROVE_MODEL_HF.
func TestAdaptersQuantised(t *testing.T) {
	adapters, models := "hf/families/testdata/adapters", "hf/testdata"
	if dir := os.Getenv("PROVE_MODEL_ADAPTERS"); dir != "" {
		adapters, models = dir, os.Getenv("PROVE_MODEL_HF")
	}
	paths, err := filepath.Glob(filepath.Join(adapters, "*", "expected.json"))
	if err != nil || len(paths) == 0 {
		t.Fatal(adapters, err)
	}
	for _, path := range paths {
		dir := filepath.Dir(path)
		t.Run(filepath.Base(dir), func(t *testing.T) { quantisedAdapter(t, filepath.Join(models, filepath.Base(dir)), dir) })
	}
}

func quantisedAdapter(t *testing.T, path, dir string) {
	var want struct {
		IDs    []float64 `json:"input_ids"`
		Prompt []int     `json:"prompt"`
		Tokens []int     `json:"tokens"`
	}
	for _, name := range []string{"expected.json", "greedy.json"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = json.Unmarshal(data, &want)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	output := readFloats(t, filepath.Join(dir, "expected.npy"))
	m, err := Open(path, &OpenOptions{Adapter: dir, Tokens: len(want.IDs)})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	in := Input{want.IDs}
	c, err := Quantise(t.Context(), m, others(m, in, true), quantiseWith(withSecurityBits(60)))
	if err != nil {
		t.Fatal(err)
	}
	run, err := c.Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	got := run.Outputs[0].Values
	span, worst := slices.Max(output)-slices.Min(output), 0.0
	for i := range output {
		worst = math.Max(worst, math.Abs(got[i]-output[i]))
	}
	if len(got) != len(output) || worst > 0.003*span {
		t.Errorf("%d values off by %.3g %% of the range of %d", len(got), 100*worst/span, len(output))
	}
	base, own := c.base.quantised, c.quantised
	apart := 0
	for _, id := range own.Circuit.Graph.FixedIDs() {
		if !slices.Contains(own.Circuit.Graph.Base, id) {
			apart += own.Weights[id].Len()
		}
	}
	t.Logf("off by %.3f %% of the range; %d fixed tensors of the base, %d of all, %d values of the adapter's; %d look-ups for %d", 100*worst/span,
		len(own.Circuit.Graph.Base), len(own.Circuit.Graph.FixedIDs()), apart, lookUps(c), lookUps(c.base))
	if !slices.EqualFunc(own.Circuit.Graph.Base, base.Circuit.Graph.FixedIDs(), func(a, b model.TensorID) bool { return own.Weights[a].Len() == base.Weights[b].Len() }) {
		t.Error("the base's tensors are not those of its circuit")
	}
	n := len(want.Tokens)
	w, err := Open(path, &OpenOptions{Adapter: dir, Tokens: len(want.Prompt) + n, MaxTokens: n})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	w.language.Ends = nil // so that all tokens are written
	if float := floatGreedy(t, w, want.Prompt, n); !slices.Equal(float, want.Tokens) {
		t.Fatalf("the float model writes %v, not %v", float, want.Tokens)
	}
	rng := rand.New(rand.NewPCG(3, 7))
	var samples []Input
	for range 4 {
		text := make([]int, len(want.Prompt)+n)
		for i := range text {
			text[i] = rng.IntN(m.Graph().Rows(m.Graph().Inputs[0].Name))
		}
		sample, err := w.TextInput(text[:len(want.Prompt)], text[len(want.Prompt):])
		if err != nil {
			t.Fatal(err)
		}
		samples = append(samples, sample)
	}
	if c, err = Quantise(t.Context(), w, samples, quantiseWith(withSecurityBits(60))); err != nil {
		t.Fatal(err)
	}
	wrote, _, err := c.Generate(t.Context(), want.Prompt, nil)
	if err != nil || !slices.Equal(wrote.Tokens, want.Tokens) {
		t.Errorf("it writes %v, not %v: %v", wrote, want.Tokens, err)
	}
}

func lookUps(c *Circuit) int {
	n := 0
	for _, of := range c.Graph().LookedUp() {
		n += of
	}
	return n
}

var _ = []any{bytes.MinRead, errors.New, proof.Version}

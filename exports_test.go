package provemodel

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// vocabularySize is the number of tokens of the exports.
const vocabularySize = 61

// closeLogits fails if logits are off by more than 0.5 % of their range, or if the
// largest of a row that is so by more than 2 % of it is another.
func closeLogits(t *testing.T, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d logits, not %d", len(got), len(want))
	}
	span, worst := slices.Max(want)-slices.Min(want), 0.0
	for i := range want {
		worst = math.Max(worst, math.Abs(got[i]-want[i]))
	}
	if worst > 0.005*span {
		t.Errorf("off by %.3g of a range of %.3g", worst, span)
	}
	for at := 0; at < len(want); at += vocabularySize {
		g, w := got[at:at+vocabularySize], want[at:at+vocabularySize]
		sorted := slices.Sorted(slices.Values(w))
		if sorted[vocabularySize-1]-sorted[vocabularySize-2] > 0.02*span && slices.Index(g, slices.Max(g)) != slices.Index(w, slices.Max(w)) {
			t.Errorf("row %d: another token", at/vocabularySize)
		}
	}
}

// TestExports quantises language models as torch exports them and runs texts that
// calibration has not met: for any number of texts, where the export leaves it open.
// Some are proved. Without -full every second is left out, if it is not one of these.
func TestExports(t *testing.T) {
	if testing.Short() {
		t.Skip("seven models are quantised")
	}
	paths, _ := filepath.Glob("onnx/testdata/exports/*.onnx")
	if len(paths) != 7 {
		t.Fatalf("%d exports", len(paths))
	}
	proved := []string{"decoder_legacy", "gpt2_dynamo"}
	for i, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".onnx")
		if !*full && i%2 > 0 && !slices.Contains(proved, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			given, err := ReadArrays(strings.TrimSuffix(path, ".onnx") + ".json")
			if err != nil {
				t.Fatal(err)
			}
			m, err := Open(path, &OpenOptions{Input: given})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			in, err := m.Input(given)
			if err != nil {
				t.Fatal(err)
			}
			circuit, err := Quantise(t.Context(), m, []Input{in}, quantiseWith(withSecurityBits(60), withGrindBits(8)))
			if err != nil {
				t.Fatal(err)
			}
			texts := given[0].Shape[0]
			if open := texts > 1; open != (len(circuit.Free()) == 1) {
				t.Fatalf("free dimensions %v: %v", circuit.Free(), circuit.Report().OneBatch)
			} else if open {
				texts = 3
			}
			rng := rand.New(rand.NewPCG(1, 2))
			tokens := make([]float64, texts*given[0].Shape[1])
			for i := range tokens {
				tokens[i] = float64(rng.IntN(vocabularySize))
			}
			float, err := m.Run(t.Context(), Input{tokens})
			if err != nil {
				t.Fatal(err)
			}
			run, err := circuit.Run(t.Context(), Input{tokens})
			if err != nil {
				t.Fatal(err)
			}
			closeLogits(t, run.Outputs[0].Values, float[0].Values)
			if slices.Contains(proved, name) {
				proveTokens(t, circuit, tokens, run.Outputs[0].Values)
			}
		})
	}
}

// proveTokens proves what a circuit gives for tokens, and no others.
func proveTokens(t *testing.T, circuit *Circuit, tokens, logits []float64) {
	committed, err := Commit(t.Context(), circuit, commitWith(withSecurityBits(60), withGrindBits(8)))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Prove(t.Context(), committed, Input{tokens}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Verify(committed.Key(), bytes.NewReader(p.File), &VerifyOptions{MinBits: 1})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.Inputs[0].Values, tokens) || !slices.Equal(s.Outputs[0].Values, logits) {
		t.Error("another statement")
	}
	other := slices.Clone(tokens)
	other[4] = vocabularySize - 1 - other[4]
	if _, err := Verify(committed.Key(), bytes.NewReader(p.File), &VerifyOptions{MinBits: 1, Input: Arrays{{Values: other}}}); !errors.Is(err, ErrInvalid) {
		t.Errorf("for other tokens: %v", err)
	}
	other[4] = vocabularySize
	if _, err := Prove(t.Context(), committed, Input{other}, nil); err == nil || !strings.Contains(err.Error(), "entry 4 is 61; it is an index") {
		t.Errorf("a token that there is not: %v", err)
	}
}

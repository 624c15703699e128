package onnx

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/graph"
)

// expected is what onnxruntime gives for a case of testdata/operators, which
// scripts/onnx/operators.py writes.
type expected struct {
	Data   [][]float64 `json:"output_data"`
	Shapes [][]int     `json:"output_shapes"`
}

func TestOperators(t *testing.T) {
	paths, _ := filepath.Glob("testdata/operators/*.onnx")
	if len(paths) < 100 {
		t.Fatalf("only %d cases", len(paths))
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".onnx")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(strings.TrimSuffix(path, ".onnx") + ".json")
			if err != nil {
				t.Fatal(err)
			}
			var want expected
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			in, err := ReadInputs(strings.TrimSuffix(path, ".onnx") + ".json")
			if err != nil {
				t.Fatal(err)
			}
			g, err := Load(path, in.Options(nil))
			if err != nil {
				t.Fatal(err)
			}
			checkNormal(t, g)
			values, err := g.RunFloat(in.Data())
			if err != nil {
				t.Fatal(err)
			}
			for i, name := range g.Outputs {
				if !slices.Equal(g.Shapes[name], want.Shapes[i]) {
					t.Errorf("%s has shape %v, want %v", name, g.Shapes[name], want.Shapes[i])
				}
				compare(t, name, values[name], want.Data[i])
			}
		})
	}
}

func compare(t *testing.T, name string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s has %d elements, want %d", name, len(got), len(want))
		return
	}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 2e-6*(1+math.Abs(want[i])) {
			t.Errorf("%s[%d] = %v, want %v", name, i, got[i], want[i])
			return
		}
	}
}

// checkNormal fails where g is not what Load promises.
func checkNormal(t *testing.T, g *graph.Graph) {
	t.Helper()
	if err := g.Validate(); err != nil {
		t.Error(err)
	}
}

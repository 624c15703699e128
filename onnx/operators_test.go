package onnx

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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

// checkNormal fails where g breaks what the package documentation promises.
func checkNormal(t *testing.T, g *Graph) {
	t.Helper()
	defined := map[string]bool{}
	used := map[string]bool{}
	names := map[string]bool{}
	for _, v := range g.Inputs {
		defined[v.Name] = true
	}
	for name, c := range g.Consts {
		if defined[name] {
			t.Errorf("%s is defined twice", name)
		}
		defined[name] = true
		if !slices.Equal(c.Shape, g.Shapes[name]) || c.Len() != size(c.Shape) || (c.F32 == nil) == (c.I64 == nil) {
			t.Errorf("constant %s: %v, shape %v, %d elements", name, c.Shape, g.Shapes[name], c.Len())
		}
		if c.DType.IsFloat() != (c.F32 != nil) || firstNonFinite(c.F32) >= 0 {
			t.Errorf("constant %s of type %v", name, c.DType)
		}
	}
	for _, n := range g.Nodes {
		if names[n.Name] || n.Name == "" {
			t.Errorf("node name %q is not unique", n.Name)
		}
		names[n.Name] = true
		if !isNormal(n.Op) {
			t.Errorf("%s is not in normal form", n.Op)
		}
		constant := true
		for _, in := range n.Inputs {
			if !defined[in] {
				t.Errorf("%s reads %s, which is not defined before", n.Name, in)
			}
			used[in] = true
			constant = constant && g.Consts[in] != nil
		}
		if constant && n.Op != "Identity" {
			t.Errorf("%s has only constant inputs", n.Name)
		}
		if len(n.Outputs) != 1 || defined[n.Output()] {
			t.Errorf("%s defines %v", n.Name, n.Outputs)
		}
		defined[n.Output()] = true
	}
	for _, out := range g.Outputs {
		used[out] = true
		if !defined[out] || g.Consts[out] != nil {
			t.Errorf("output %s is not the output of a node", out)
		}
	}
	for name := range defined {
		if len(g.Inputs) > 0 && !used[name] && !slices.ContainsFunc(g.Inputs, func(v Value) bool { return v.Name == name }) {
			t.Errorf("nothing uses %s", name)
		}
		if shape, ok := g.Shapes[name]; !ok || size(shape) < 1 {
			t.Errorf("%s has shape %v", name, shape)
		}
		if !g.DTypes[name].known() {
			t.Errorf("%s has %v", name, g.DTypes[name])
		}
	}
	if len(g.Shapes) != len(defined) || len(g.DTypes) != len(defined) {
		t.Errorf("%d shapes and %d types for %d values", len(g.Shapes), len(g.DTypes), len(defined))
	}
}

package pipeline

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/prove-model/prove-model/cmd/prove-model/internal/ui"
	"github.com/prove-model/prove-model/onnx"
	"github.com/prove-model/prove-model/prover/model"
)

// Arrays with names are the inputs of these names, in whatever order the file
// has them: for verify as for proving. Else a proof about (x, y) would pass for
// a file that says (y, x).
func TestSameInputGoesByName(t *testing.T) {
	tensor := func(name string) model.Tensor {
		return model.Tensor{Name: name, Shape: []int{2}, Min: -8, Max: 7, Frac: 1}
	}
	g := &model.Graph{Tensors: []model.Tensor{tensor("x"), tensor("y")}, Inputs: []model.TensorID{0, 1}}
	public := [][]int32{{1, 2}, {3, 7}}
	a, b := []float64{0.5, 1}, []float64{1.5, 3.5}
	for name, c := range map[string]struct {
		file      onnx.Inputs
		valid     bool
		saturated int
	}{
		"as the model has them": {onnx.Inputs{{Name: "x", Values: a}, {Name: "y", Values: b}}, true, 0},
		"the other way round":   {onnx.Inputs{{Name: "y", Values: b}, {Name: "x", Values: a}}, true, 0},
		"names exchanged":       {onnx.Inputs{{Name: "y", Values: a}, {Name: "x", Values: b}}, false, 0},
		"without names":         {onnx.Inputs{{Values: a}, {Values: b}}, true, 0},
		"other names":           {onnx.Inputs{{Name: "p", Values: a}, {Name: "q", Values: b}}, true, 0},
		"one name twice":        {onnx.Inputs{{Name: "x", Values: a}, {Name: "x", Values: b}}, true, 0},
		"without names, turned": {onnx.Inputs{{Values: b}, {Values: a}}, false, 0},
		"one array":             {onnx.Inputs{{Values: a}}, false, 0},
		"three arrays":          {onnx.Inputs{{Values: a}, {Values: b}, {Values: b}}, false, 0},
		"beyond the range":      {onnx.Inputs{{Values: a}, {Values: []float64{1.5, 100}}}, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			saturated, err := sameInput(g, public, c.file)
			if (err == nil) != c.valid || saturated != c.saturated {
				t.Errorf("%d values clamped, %v", saturated, err)
			}
		})
	}
}

// A key may call two inputs the same, and then its names say nothing: a proof
// about (x, x) must not pass for a file that says (x, y).
func TestSameInputOfOneName(t *testing.T) {
	x := model.Tensor{Name: "x", Shape: []int{2}, Min: -8, Max: 7, Frac: 1}
	g := &model.Graph{Tensors: []model.Tensor{x, x}, Inputs: []model.TensorID{0, 1}}
	public := [][]int32{{1, 2}, {1, 2}}
	file := onnx.Inputs{{Name: "x", Values: []float64{0.5, 1}}, {Name: "y", Values: []float64{1.5, 3.5}}}
	if _, err := sameInput(g, public, file); err == nil {
		t.Error("accepted")
	}
}

// What an input beyond the range is clamped to has the same proof; verify says
// that it clamped.
func TestVerifyCountsSaturation(t *testing.T) {
	cfg := settings(t)
	in, err := onnx.ReadInputs(cfg.Input)
	if err != nil {
		t.Fatal(err)
	}
	values := in[0].Values
	values[3] = 1e9
	data, _ := json.Marshal(map[string]any{"input_data": [][]float64{values}})
	cfg.Input = filepath.Join(t.TempDir(), "in.json")
	if err := os.WriteFile(cfg.Input, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Prove(t.Context(), cfg, ui.NewPhases(nil, true)); err != nil {
		t.Fatal(err)
	}
	v, err := Verify(cfg)
	if err != nil || v.Saturated != 1 {
		t.Errorf("%+v, %v", v, err)
	}
}

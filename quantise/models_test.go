package quantise

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/onnx"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
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

// run quantises a graph with the calibration of the inputs themselves,
// executes it and returns the real outputs, integer and float.
func run(t testing.TB, g *graph.Graph, inputs [][]float64, opts Options) (m *Model, w *forward.Witness, got, want [][]float64) {
	t.Helper()
	values, err := g.RunFloat(inputs)
	if err != nil {
		t.Fatal(err)
	}
	m, err = Quantise(g, Ranges(values), opts)
	if err != nil {
		t.Fatal(err)
	}
	w, got, want = runModel(t, m, g, inputs, values)
	return m, w, got, want
}

// runModel executes a model and returns the real outputs, integer and float.
func runModel(t testing.TB, m *Model, g *graph.Graph, inputs [][]float64, values map[string][]float64) (w *forward.Witness, got, want [][]float64) {
	t.Helper()
	ints, saturated, err := m.QuantiseInput(inputs)
	if err != nil {
		t.Fatal(err)
	}
	if saturated != 0 {
		t.Errorf("%d input entries saturated with their own calibration", saturated)
	}
	w, err = forward.Run(context.Background(), m.Graph, m.Weights, ints)
	if err != nil {
		t.Fatal(err)
	}
	checkWitness(t, m, w)
	for _, o := range g.Outputs {
		want = append(want, values[o])
	}
	return w, m.Outputs(w), want
}

// runChecked runs a model on inputs and checks the witness.
func runChecked(t tester, m *Model, in [][]float64) *forward.Witness {
	t.Helper()
	ints, _, err := m.QuantiseInput(in)
	if err != nil {
		t.Fatal(err)
	}
	w, err := forward.Run(context.Background(), m.Graph, m.Weights, ints)
	if err != nil {
		t.Fatal(err)
	}
	checkWitness(t, m, w)
	return w
}

// tester is a *testing.T or a *rapid.T.
type tester interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// checkWitness checks what the prover relies on: entries within the tensors'
// bounds, zero steps that hold.
func checkWitness(t tester, m *Model, w *forward.Witness) {
	t.Helper()
	for id := range m.Graph.Tensors {
		tensor := &m.Graph.Tensors[id]
		for i, x := range w.Tensor(model.TensorID(id)) {
			if int64(x) < tensor.Min || int64(x) > tensor.Max {
				t.Fatalf("tensor %d %q: entry %d is %d, outside of [%d, %d]", id, tensor.Name, i, x, tensor.Min, tensor.Max)
			}
		}
	}
	if err := w.Check(); err != nil {
		t.Fatal(err)
	}
	checkBounds(t, m, w)
}

func TestSharedModels(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join(sharedModels(t), "*", "network.onnx"))
	if len(paths) == 0 {
		t.Fatal("no models found")
	}
	for _, path := range paths {
		dir := filepath.Dir(path)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			inputs, err := onnx.ReadInputs(filepath.Join(dir, "input.json"))
			if err != nil {
				t.Fatal(err)
			}
			g, err := onnx.Load(path, inputs.Options(nil))
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			values, err := g.RunFloat(inputs.Data())
			if err != nil {
				t.Fatal(err)
			}
			m, c, err := Choose(context.Background(), g, []Sample{{Graph: g, Inputs: inputs.Data()}}, Ranges(values), Options{})
			if err != nil {
				t.Fatal(err)
			}
			w, got, want := runModel(t, m, g, inputs.Data(), values)
			rows, entries := 0, 0
			for _, table := range m.Graph.Tables {
				rows += 1 << table.Bits
			}
			for i := range m.Graph.Tensors {
				if m.Graph.Tensors[i].Kind == model.Witness {
					entries += model.Size(m.Graph.Tensors[i].Shape)
				}
			}
			t.Logf("%d runs, at first %.5f %%: %v", c.Runs, 100*c.First, c.Formats)
			for i := range got {
				a := Compare(got[i], want[i])
				t.Logf("error %.5f %% of the range, cosine %.7f; %d steps, %d witness entries, %d table rows, saturated %v",
					100*a.Relative, a.Cosine, len(m.Graph.Steps), entries, rows, m.Saturation(w))
				if a.Relative > Target {
					t.Errorf("error %g is over 0.1 %% of the range %g", a.MaxError, a.Range)
				}
				if len(got[i]) >= 8 && a.Cosine < 0.999 {
					t.Errorf("cosine %g is below 0.999", a.Cosine)
				}
			}
		})
	}
}

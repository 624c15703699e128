package prover

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/onnx"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/verifier"
	"github.com/prove-model/prove-model/quantise"
)

// TestOperatorModels takes the models of one or a few operators on which the
// reader is compared with ONNX Runtime all the way: quantise, run, prove,
// verify, and compare what is proved with ONNX Runtime's floats. Without -full it leaves
// out those of which TestWitnessIsForced verifies an honest proof as well.
func TestOperatorModels(t *testing.T) {
	paths, _ := filepath.Glob("../../onnx/testdata/operators/*.onnx")
	if len(paths) < 100 {
		t.Fatalf("only %d models", len(paths))
	}
	for i, path := range paths {
		if !*full && i%forgedOf == 0 {
			continue
		}
		base := strings.TrimSuffix(path, ".onnx")
		t.Run(filepath.Base(base), func(t *testing.T) {
			t.Parallel()
			in, err := onnx.ReadInputs(base + ".json")
			if err != nil {
				t.Fatal(err)
			}
			fg, err := onnx.Load(path, in.Options(nil))
			if err != nil {
				t.Fatal(err)
			}
			defer fg.Close()
			values, err := fg.RunFloat(in.Data())
			if err != nil {
				t.Fatal(err)
			}
			m, err := quantise.Quantise(fg, quantise.Ranges(values), quantise.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if m, err = m.At(model.Instance{ChunkEntries: 1 << 10}); err != nil {
				t.Fatal(err)
			}
			ints, _, err := m.QuantiseInput(in.Data())
			if err != nil {
				t.Fatal(err)
			}
			ctx := context.Background()
			wit, err := forward.Run(ctx, m.Graph, m.Weights, ints)
			if err != nil {
				t.Fatal(err)
			}
			// Little security makes it quick; the statement is the same.
			key, tree, err := Commit(ctx, m.Circuit, m.Weights, proof.Security{TargetBits: 30, GrindBits: 2}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var buf bytes.Buffer
			if _, err := Prove(ctx, key, m.Graph.Instance, tree, wit, &buf, Options{}); err != nil {
				t.Fatal(err)
			}
			result, err := verifier.Verify(key, &buf)
			if err != nil {
				t.Fatal(err)
			}
			checkOutputs(t, base+".json", m, result)
		})
	}
}

// checkOutputs compares the proved outputs with the recorded ones.
func checkOutputs(t *testing.T, path string, m *quantise.Model, r *verifier.Result) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Data [][]float64 `json:"output_data"`
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	for i, id := range m.Graph.Outputs {
		a := quantise.Compare(m.Dequantise(id, r.Outputs[i]), want.Data[i])
		if a.Relative > 0.01 || len(want.Data[i]) >= 8 && a.Cosine < 0.999 {
			t.Errorf("output %d: error %.3g, %.3f %% of the range, cosine %.6f", i, a.MaxError, 100*a.Relative, a.Cosine)
		}
	}
}

package quantise

import (
	"context"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/onnx"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// TestAccuracy quantises the model of a folder that scripts/accuracy made, with
// the samples in calibration.npz, and compares it with the float model on those in
// test.npz, which the quantiser has not seen. PROVE_MODEL_ACCURACY names the
// folder, PROVE_MODEL_MODE the mode.
func TestAccuracy(t *testing.T) {
	dir := os.Getenv("PROVE_MODEL_ACCURACY")
	if dir == "" {
		t.Skip("PROVE_MODEL_ACCURACY names no folder")
	}
	g, err := onnx.Load(filepath.Join(dir, "network.onnx"), onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	calibration, tests := readSamples(t, g, filepath.Join(dir, "calibration.npz")), readSamples(t, g, filepath.Join(dir, "test.npz"))
	start := time.Now()
	ranges := map[string]Range{}
	for _, s := range calibration {
		values, err := g.RunFloat(s.Inputs)
		if err != nil {
			t.Fatal(err)
		}
		for name, r := range Ranges(values) {
			if old, ok := ranges[name]; ok {
				r = r.Union(old)
			}
			ranges[name] = r.Rounded()
		}
	}
	t.Logf("calibrated with %d samples in %v", len(calibration), time.Since(start).Round(time.Second))
	start = time.Now()
	m, c, err := Choose(context.Background(), g, calibration, ranges, Options{Mode: os.Getenv("PROVE_MODEL_MODE")})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("chose in %d runs, %v: %.4f %% of the target's error, at first %.4f", c.Runs, time.Since(start).Round(time.Second), 100*c.Error, 100*c.First)
	for _, name := range slices.Sorted(maps.Keys(c.Formats)) {
		t.Logf("  %s: %+v", name, c.Formats[name])
	}
	var worst, kl, agree, rows float64
	cosine := 1.0
	for i, s := range tests {
		values, err := g.RunFloat(s.Inputs)
		if err != nil {
			t.Fatal(err)
		}
		w, err := runSized(m, s.Inputs)
		if err != nil {
			t.Fatal(err)
		}
		id := m.Graph.Outputs[0]
		got, want := m.Dequantise(id, w.Tensor(id)), values[g.Outputs[0]]
		a := Compare(got, want)
		worst, cosine = math.Max(worst, a.Relative), math.Min(cosine, a.Cosine)
		shape := m.Graph.Tensors[id].Shape
		row := shape[len(shape)-1]
		kl += Divergence(got, want, row) * float64(len(got)/row)
		for at := 0; at < len(got); at += row {
			rows++
			if greatest(got[at:at+row]) == greatest(want[at:at+row]) {
				agree++
			}
		}
		t.Logf("sample %d: error %.4f %% of the range, cosine %.6f, saturated %v", i, 100*a.Relative, a.Cosine, m.Saturation(w))
	}
	t.Logf("%s: error %.4f %%, least cosine %.6f, KL %.3g, top-1 %.2f %% of %.0f rows", dir, 100*worst, cosine, kl/rows, 100*agree/rows, rows)
}

func greatest(v []float64) int { return slices.Index(v, slices.Max(v)) }

// readSamples reads samples end to end.
func readSamples(t *testing.T, g *graph.Graph, path string) []Sample {
	t.Helper()
	in, err := onnx.ReadInputs(path)
	if err != nil {
		t.Fatal(err)
	}
	size := model.Size(g.Inputs[0].Shape)
	var samples []Sample
	for x := range slices.Chunk(in.Data()[0], size) {
		samples = append(samples, Sample{Graph: g, Inputs: [][]float64{x}})
	}
	return samples
}

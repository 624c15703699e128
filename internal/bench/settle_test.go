package bench

import (
	"flag"
	"testing"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

var layers = flag.Int("layers", 4, "layers of SmolLM2's shape in BenchmarkSettle")

// BenchmarkSettle chooses what a GPU keeps of the proof of 256 tokens of SmolLM2's shape behind 15 segments of as many, in a budget
// in which values are made again.
func BenchmarkSettle(b *testing.B) {
	ph := ui.NewPhases(nil, true)
	cfg := config.Default()
	cfg.CacheDir = b.TempDir()
	float := Shapes["smollm2"].open(b.Context(), &cfg, *layers, &provemodel.OpenOptions{Tokens: mostTokens, MaxTokens: 1}, ph)
	defer float.close()
	ids := float.tokens(9)
	sample, err := float.TextInput(ids[:8], ids[8:])
	if err != nil {
		b.Fatal(err)
	}
	circuit, err := provemodel.Quantise(b.Context(), float.Model, []provemodel.Input{sample}, nil)
	if err != nil {
		b.Fatal(err)
	}
	c, err := provemodel.Commit(b.Context(), circuit, nil)
	if err != nil {
		b.Fatal(err)
	}
	in := model.Instance{Sizes: []int{256, 1}, Segment: &model.Segment{}}
	for range 15 {
		in.Segment.Past = append(in.Segment.Past, model.Past{Tokens: 256, RowVars: 13})
	}
	p, err := c.Key().Plan(c.Key().Circuit.Choose(in))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		m := cuda.NewMachine(kernels.NewDry(132))
		m.Streams, m.Threshold, m.Piece = 8, backend.DefaultThreshold, 1<<30
		if m.Settle(p, 0, int64(*layers)*200<<20, 1); !m.Mode().Values { // 6 GB for all 30 layers
			b.Fatalf("it keeps all but %v", m.Mode().Recomputed())
		}
	}
}

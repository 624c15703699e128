package prover

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/verifier"
)

// mlp is a stack of dense layers of one width with a ReLU each.
func mlp(rng *rand.Rand, layers, width int) *builder {
	b := &builder{}
	x := b.input(1, width)
	relu := b.table(model.Table{Name: "wide relu", Kind: model.TablePiecewise, Bits: 16, Min: -1 << 15,
		Pieces: []model.Piece{{End: 1 << 15}, {End: 1<<15 + 100, Slope: 1}, {End: 1 << 16, Offset: 99}}})
	for i := range layers {
		w := b.fixed(rng, 100, width, width)
		x = b.requantise(fmt.Sprintf("layer %d", i), []int{1, width}, model.Acc{Products: []model.Product{
			{Coef: 1, A: x, B: w, LabelsA: []int{0, 5}, LabelsB: []int{1, 5}}}}, 12, relu)
	}
	b.g.Outputs = []model.TensorID{x}
	return b
}

func benchmarkMLP(b *testing.B, width int) {
	for _, suite := range hash.All() {
		b.Run(suite.String(), func(b *testing.B) { benchmarkMLPWith(b, suite, width) })
	}
}

func benchmarkMLPWith(b *testing.B, suite hash.Suite, width int) {
	sec := proof.DefaultSecurity
	sec.Hash = suite
	rng := rand.New(rand.NewPCG(1, 1))
	m := mlp(rng, 4, width)
	m.g.Finish(0)
	wit := m.run(b, rng)
	ctx := context.Background()
	key, tree, err := Commit(ctx, m.g.Template(), m.w, sec, Options{})
	if err != nil {
		b.Fatal(err)
	}
	var buf bytes.Buffer
	b.Run("commit", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := Commit(ctx, m.g.Template(), m.w, sec, Options{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("prove", func(b *testing.B) {
		for b.Loop() {
			buf.Reset()
			stats, err := Prove(ctx, key, m.g.Instance, tree, wit, &buf, Options{})
			if err != nil {
				b.Fatal(err)
			}
			for p, d := range stats.Phases {
				b.ReportMetric(d.Seconds()*1e3, string(p[:4])+"-ms")
			}
		}
		b.ReportMetric(float64(buf.Len()), "bytes")
	})
	b.Run("verify", func(b *testing.B) {
		for b.Loop() {
			if _, err := verifier.Verify(key, bytes.NewReader(buf.Bytes())); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkMLP256(b *testing.B)  { benchmarkMLP(b, 256) }
func BenchmarkMLP1024(b *testing.B) { benchmarkMLP(b, 1024) }
func BenchmarkMLP4096(b *testing.B) { benchmarkMLP(b, 4096) }

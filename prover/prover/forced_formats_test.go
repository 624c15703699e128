package prover

import (
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/quantise"
)

// TestWitnessOfFormatsIsForced changes what provers commit to for values that have
// formats of their own, where these are made in another way than others.
func TestWitnessOfFormatsIsForced(t *testing.T) {
	const rows, width = 3, 6
	for name, c := range map[string]struct {
		build func(b *graph.Builder, x graph.Value) graph.Value
		bits  int // of all values, which are made of one of 24 bits
	}{
		"a wide Relu": {func(b *graph.Builder, x graph.Value) graph.Value { return b.Apply(graph.Relu, x) }, 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(17, 18))
			b := graph.NewBuilder(name)
			b.Output("y", c.build(b, b.Input("x", graph.Float, []int{rows, width})))
			g, err := b.Graph()
			if err != nil {
				t.Fatal(err)
			}
			x := make([]float64, rows*width)
			for i := range x {
				x[i] = rng.NormFloat64()
			}
			formats := quantise.Formats{"x": {Bits: 24}}
			for _, n := range g.Nodes {
				formats[n.Output] = quantise.Format{Bits: c.bits}
			}
			newForger(t, g, [][]float64{x}, quantise.Options{Formats: formats}, 0).run(t, rng, forcedIn(2))
		})
	}
}

package prover

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise"
)

// Functions of wide values, and products of two of them entry by entry, leave a prover
// no choice.
func TestWitnessOfFineFunctionsIsForced(t *testing.T) {
	t.Parallel()
	const width = 8
	rng := rand.New(rand.NewPCG(31, 32))
	b := graph.NewBuilder("fine")
	c := &graph.Tensor{Shape: []int{width, width}, DType: graph.Float}
	for range width * width {
		c.F32 = append(c.F32, float32(rng.NormFloat64()))
	}
	x := b.Input("x", graph.Float, []int{3, width})
	y := b.MatMul(x, b.Constant("", c))
	b.Output("z", b.Mul(b.Apply(graph.Tanh, y), y))
	b.Output("t", b.Apply(graph.Sigmoid, b.MatMul(b.Apply(graph.Tanh, y), b.Constant("", c))))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	f := quantise.Formats{"x": {Bits: 18}}
	for _, n := range g.Nodes {
		f[n.Output] = quantise.Format{Bits: 20, Weights: 13}
	}
	values := make([]float64, 3*width)
	for i := range values {
		values[i] = rng.NormFloat64()
	}
	forger := newForger(t, g, [][]float64{values}, quantise.Options{Formats: f}, 0)
	slopes, carries := 0, 0
	for _, t := range forger.m.Graph.Tensors {
		if strings.HasSuffix(t.Name, ", slope") {
			slopes++
		}
		if strings.Contains(t.Name, "carry") {
			carries++
		}
	}
	if slopes < 2 || carries == 0 {
		t.Fatalf("%d functions by lines, %d carries", slopes, carries)
	}
	forger.run(t, rand.New(rand.NewPCG(33, 34)), forcedIn(5))
}

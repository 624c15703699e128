package prover

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise"
	"github.com/prove-model/prove-model/quantise/lower"
)

// TestWitnessOfFormatsIsForced changes what provers commit to for values that have
// formats of their own, where these are made in another way than others.
func TestWitnessOfFormatsIsForced(t *testing.T) {
	const rows, width = 3, 16
	rng := rand.New(rand.NewPCG(19, 20))
	weights := &graph.Tensor{Shape: []int{width, 4}, DType: graph.Float}
	for range width * 4 {
		weights.F32 = append(weights.F32, float32(rng.NormFloat64()))
	}
	for name, c := range map[string]struct {
		build func(b *graph.Builder, x graph.Value) graph.Value
		made  string // the name of what is made in another way ends in this
		bits  int    // 0: 20
	}{
		"a wide Relu": {func(b *graph.Builder, x graph.Value) graph.Value { return b.Apply(graph.Relu, x) }, ", sign", 0},
		"weights in two parts": {func(b *graph.Builder, x graph.Value) graph.Value {
			return b.MatMul(x, b.Constant("w", weights))
		}, ", fine carry", 0},
		"limbs of both factors": {func(b *graph.Builder, x graph.Value) graph.Value {
			y := b.MatMul(x, b.Constant("w", weights))
			return b.MatMul(b.Transpose(y, []int{1, 0}), b.Apply(graph.Tanh, y))
		}, ", other carry", 0},
		"a function with bends": {func(b *graph.Builder, x graph.Value) graph.Value {
			return b.Apply(graph.Sigmoid, b.MatMul(x, b.Constant("w", weights)))
		}, ", bow", 22},
		"all of a product of two values": {func(b *graph.Builder, x graph.Value) graph.Value {
			return b.Mul(x, b.Transpose(b.Reshape(b.Transpose(x, []int{1, 0}), []int{rows, width}), []int{0, 1}))
		}, ", low carry", 22},
		"a Softmax of scores in limbs": {func(b *graph.Builder, x graph.Value) graph.Value {
			return b.Softmax(b.MatMul(x, b.Constant("w", weights)), 1)
		}, "exponential, low", 22},
		"a mean with a factor in limbs": {func(b *graph.Builder, x graph.Value) graph.Value {
			return b.Reduce(graph.Mean, x, []int{0}, false)
		}, ", carry", 22},
		"a function by octaves": {func(b *graph.Builder, x graph.Value) graph.Value {
			return b.Apply(graph.Reciprocal, b.Mul(x, b.Mul(x, x)))
		}, ", leading bits", lower.RelativeBits},
		"a quotient of logarithms": {func(b *graph.Builder, x graph.Value) graph.Value {
			return b.Div(x, b.SliceAxis(x, 1, width-1, -1, width))
		}, "octaves, leading bits", lower.RelativeBits},
		"scores far apart": {func(b *graph.Builder, x graph.Value) graph.Value {
			return b.Softmax(b.Mul(x, b.Number(50)), 1)
		}, "near the maximum", 0},
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
			if c.bits == lower.RelativeBits {
				x[7] = 1e-4 // entries of many sizes
			}
			formats, bits := quantise.Formats{"x": {Bits: max(c.bits, 24)}}, max(c.bits, 20)
			for _, n := range g.Nodes {
				formats[n.Output] = quantise.Format{Bits: bits}
				if _, ok := n.Op.(graph.MatMul); ok {
					formats[n.Output] = quantise.Format{Bits: bits, Weights: 22}
				}
			}
			f := newForger(t, g, [][]float64{x}, quantise.Options{Formats: formats}, 0)
			if !slices.ContainsFunc(f.m.Graph.Tensors, func(t model.Tensor) bool { return strings.HasSuffix(t.Name, c.made) }) {
				t.Fatalf("nothing is called …%s", c.made)
			}
			f.run(t, rng, forcedIn(2))
		})
	}
}

package prover

import (
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise"
)

// TestWholePartsAreForced changes what a prover commits to for whole parts of numbers over a constant, which are divisions, for numbers times
// a factor of which halves are rounded to the even number, and for choices between a value and a low constant.
func TestWholePartsAreForced(t *testing.T) {
	for name, build := range map[string]func(b *graph.Builder, x, c graph.Value) graph.Value{
		"floor": func(b *graph.Builder, x, _ graph.Value) graph.Value {
			return b.Apply(graph.Floor, b.Div(x, b.Number(10)))
		},
		"ceil": func(b *graph.Builder, x, _ graph.Value) graph.Value {
			return b.Apply(graph.Ceil, b.Div(x, b.Number(7)))
		},
		"trunc": func(b *graph.Builder, x, _ graph.Value) graph.Value {
			return b.Apply(graph.Trunc, b.Div(x, b.Number(-3)))
		},
		"rescale": func(b *graph.Builder, x, _ graph.Value) graph.Value { return b.Rescale(x, 0.375) },
		"chosen": func(b *graph.Builder, x, c graph.Value) graph.Value {
			low := &graph.Tensor{DType: graph.Float, Shape: []int{2}, F32: []float32{-20000, -15000}}
			return b.Where(c, x, b.Constant("low", low))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const n = 12
			b := graph.NewBuilder(name)
			x := b.Cast(b.Input("x", graph.Int8, []int{n, 1}), graph.Float)
			c := b.Input("c", graph.Bool, []int{n, 1})
			b.Output("y", build(b, x, c))
			g, err := b.Graph()
			if err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(17, 18))
			in := make([][]float64, len(g.Inputs))
			for range n {
				for i, v := range []float64{float64(rng.IntN(256) - 128), float64(rng.IntN(2))}[:len(in)] {
					in[i] = append(in[i], v)
				}
			}
			newForger(t, g, in, quantise.Options{}, 0).run(t, rng, forcedIn(1))
		})
	}
}

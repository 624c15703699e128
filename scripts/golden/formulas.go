package main

import (
	"math"

	"github.com/prove-model/prove-model/graph"
)

// formulas is a model whose constants are functions of their indexes: a causal mask,
// an identity matrix, and positions.
func formulas() (*graph.Graph, [][]float64, error) {
	const n = 5
	constant := func(b *graph.Builder, shape []int, at func(i, j int) float64) graph.Value {
		return b.Constant("", filled(shape, func(i int) float64 { return at(i/shape[1], i%shape[1]) }))
	}
	b := graph.NewBuilder("formulas")
	x := b.Input("x", graph.Float, []int{2, n, n})
	b.Output("masked", b.Softmax(b.Add(x, constant(b, []int{n, n}, func(i, j int) float64 {
		if j > i {
			return math.Inf(-1)
		}
		return 0
	})), 2))
	b.Output("identity", b.Add(x, constant(b, []int{n, n}, func(i, j int) float64 {
		if i == j {
			return 1
		}
		return 0
	})))
	b.Output("positions", b.Add(b.Reshape(x, []int{2, n * n}), b.Reshape(constant(b, []int{1, n * n}, func(_, j int) float64 { return float64(j) }), []int{n * n})))
	g, err := b.Graph()
	return g, [][]float64{sixteenths(2*n*n, 37, 101)}, err
}

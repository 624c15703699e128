package main

import "github.com/prove-model/prove-model/graph"

// long is a model whose output is too long to be absorbed by the transcript entry by entry, so that
// it is hashed, and whose length is no multiple of the columns in which it is hashed.
func long() (*graph.Graph, [][]float64, error) {
	const n, m = 129, 257
	b := graph.NewBuilder("long")
	x := b.Input("x", graph.Float, []int{n, 1})
	y := b.Input("y", graph.Float, []int{1, m})
	b.Output("sum", b.Add(x, y))
	g, err := b.Graph()
	return g, [][]float64{sixteenths(n, 29, 31), sixteenths(m, 37, 41)}, err
}

// filled is a tensor of floats, whose element i is f(i).
func filled(shape []int, f func(i int) float64) *graph.Tensor {
	t := &graph.Tensor{Shape: shape, DType: graph.Float}
	for i := range graph.Size(shape) {
		t.F32 = append(t.F32, float32(f(i)))
	}
	return t
}

// sixteenths returns n multiples of 1/16 around 0. They are the residues of multiples of by modulo modulus, an odd number, minus half of
// modulus.
func sixteenths(n, by, modulus int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(i*by%modulus-modulus/2) / 16
	}
	return v
}

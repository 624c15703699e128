package main

import "github.com/prove-model/prove-model/graph"

// experts is a layer of five gated experts. Each of four rows uses two of them, and multiplies their results by their scores.
func experts() (*graph.Graph, [][]float64, error) {
	const rows, all, used, width, inner = 4, 5, 2, 6, 4
	b := graph.NewBuilder("experts")
	constant := func(name string, by int, shape ...int) graph.Value {
		return b.Constant(name, filled(shape, func(i int) float64 { return float64((i*by)%101-50) / 40 }))
	}
	x := b.Input("x", graph.Float, []int{rows, width})
	scores := b.Gemm(graph.Gemm{TransB: true, Alpha: 1, Beta: 1}, x, constant("router", 37, all, width))
	slots := b.Slots(scores, used)
	gate := b.Apply(graph.Relu, b.Experts(x, constant("gate", 23, all, inner, width), slots))
	y := b.Experts(b.Mul(gate, b.Experts(x, constant("up", 29, all, inner, width), slots)), constant("down", 31, all, width, inner), slots)
	b.Output("y", b.MixSlots(y, b.InSlots(scores, slots)))
	g, err := b.Graph()
	return g, [][]float64{sixteenths(rows*width, 41, 67)}, err
}

// routing is a model whose outputs are which three of six experts each of four rows uses, and their scores, some of which are equal.
func routing() (*graph.Graph, [][]float64, error) {
	const rows, all, used, width = 4, 6, 3, 5
	b := graph.NewBuilder("routing")
	w := filled([]int{all, width}, func(i int) float64 { return float64((i%(all/2*width)*37)%101-50) / 40 }) // two equal halves
	x := b.Input("x", graph.Float, []int{rows, width})
	scores := b.Gemm(graph.Gemm{TransB: true, Alpha: 1, Beta: 1}, x, b.Constant("router", w))
	slots := b.Slots(scores, used)
	b.Output("slots", slots)
	b.Output("scores", b.InSlots(scores, slots))
	g, err := b.Graph()
	return g, [][]float64{sixteenths(rows*width, 41, 67)}, err
}

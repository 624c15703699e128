package main

import "github.com/prove-model/prove-model/graph"

// long is a model whose output is longer than what a transcript absorbs entry by entry,
// and no multiple of the columns that it is hashed in.
func long() (*graph.Graph, [][]float64, error) {
	const n, m = 129, 257
	b := graph.NewBuilder("long")
	x := b.Input("x", graph.Float, []int{n, 1})
	y := b.Input("y", graph.Float, []int{1, m})
	b.Output("sum", b.Add(x, y))
	g, err := b.Graph()
	column, row := make([]float64, n), make([]float64, m)
	for i := range column {
		column[i] = float64(i*29%31-15) / 16
	}
	for i := range row {
		row[i] = float64(i*37%41-20) / 16
	}
	return g, [][]float64{column, row}, err
}

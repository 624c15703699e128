package main

import (
	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise"
)

// text is a model of texts of any length up to eight, with a text of five tokens. It multiplies the
// tokens' embeddings by vectors for their positions. Each token then attends to itself and to the
// two before it. The outputs are the results and their mean.
func text() source {
	return source{name: "text", options: quantise.Options{Mode: "w8a8", Length: longestText}, build: func() (*graph.Graph, [][]float64, error) {
		g, err := texts(5)
		return g, [][]float64{{3, 1, 4, 1, 0}}, err
	}}
}

const longestText = 8

// texts builds the graph of that model for n tokens.
func texts(n int) (*graph.Graph, error) {
	const words, dim, window = 6, 3, 3
	floats := func(rows, seed int) *graph.Tensor {
		return filled([]int{rows, dim}, func(i int) float64 { return float64((i*seed)%41-20) / 16 })
	}
	mask := &graph.Tensor{Shape: []int{n, n}, DType: graph.Bool, I64: make([]int64, n*n)}
	for i := range n {
		for j := max(0, i-window+1); j <= i; j++ {
			mask.I64[i*n+j] = 1
		}
	}
	b := graph.NewBuilder("text")
	ids := b.Reshape(b.Input("ids", graph.Int64, []int{1, n}, "", "tokens"), []int{n})
	x := b.Mul(b.Take(b.Constant("embedding", floats(words, 13)), 0, ids), b.Constant("positions", floats(n, 29)))
	scores := b.Where(b.Constant("mask", mask), b.MatMul(x, b.Transpose(x, []int{1, 0})), b.Number(-1e30))
	y := b.MatMul(b.Softmax(scores, 1), x)
	b.Output("y", y)
	b.Output("mean", b.Reduce(graph.Mean, y, []int{0}, true))
	g, err := b.Graph()
	if err == nil {
		g.Rebind = func(sizes map[string]int) (*graph.Graph, error) { return texts(sizes["tokens"]) }
	}
	return g, err
}

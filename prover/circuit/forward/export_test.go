package forward

import (
	"context"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// RunRow runs a circuit for one row, with caches that are made when they are nil, and returns the outputs.
func RunRow(ctx context.Context, c *RowCircuit, caches *[][]int32, at []int, values [][]int32) ([][]int32, error) {
	if *caches == nil {
		for _, x := range c.Caches {
			*caches = append(*caches, make([]int32, model.Size(c.Graph.Tensors[x.Whole].Shape)))
		}
	}
	w, err := begin(c.Graph, c.Weights, append(c.Values(at, values), *caches...), nil)
	if err != nil {
		return nil, err
	}
	e := newExecutor(w)
	e.live = newLiveness(w.graph, nil)
	keep := func(step int) {
		for _, x := range c.Caches {
			if x.Step == step {
				put(w.Values[x.Whole], w.graph.Tensors[x.Whole].Shape, x.Axis, int(w.Values[x.At][0]), w.Tensor(x.Row))
			}
		}
	}
	keep(-1)
	for i := range w.graph.Steps {
		if err := e.step(i); err != nil {
			return nil, err
		}
		keep(i)
	}
	var out [][]int32
	for _, id := range w.graph.Outputs {
		out = append(out, w.Tensor(id))
	}
	return out, nil
}

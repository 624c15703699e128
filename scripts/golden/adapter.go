package main

import (
	"github.com/prove-model/prove-model/internal/golden"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// adapter is a circuit for y = W·x + B·(A·x) + 3·bias. The base has W and a tensor that no step reads, in another order than
// the circuit has them. A, B and bias belong to the adapter.
func adapter() (_ *golden.Circuit, err error) {
	defer must.Catch(&err)
	const x, low, weights, bias, up, unread, inner, out = 0, 1, 2, 3, 4, 5, 6, 7
	fixed := func(name string, shape ...int) model.Tensor {
		return model.Tensor{Name: name, Shape: shape, Kind: model.Fixed, Min: -20, Max: 20}
	}
	exact := func(name string, rows, of int, acc model.Acc) model.Step {
		return model.Step{Kind: model.StepExact, Name: name, Shape: []int{rows}, Acc: acc, Lo: model.None, Table: model.None, Out: model.TensorID(of), Den: model.None}
	}
	product := func(a, b model.TensorID) model.Product {
		return model.Product{Coef: 1, A: a, B: b, LabelsA: []int{0, 1}, LabelsB: []int{1}}
	}
	g := &model.Graph{
		Name: "adapter",
		Tensors: []model.Tensor{
			x:       {Name: "x", Shape: []int{6}, Kind: model.Input, Min: -100, Max: 100},
			low:     fixed("A", 2, 6),
			weights: fixed("W", 5, 6),
			bias:    fixed("bias", 5),
			up:      fixed("B", 5, 2),
			unread:  fixed("unread", 3),
			inner:   {Name: "A x", Shape: []int{2}, Kind: model.Witness, Min: -12000, Max: 12000},
			out:     {Name: "y", Shape: []int{5}, Kind: model.Witness, Min: -500000, Max: 500000},
		},
		Steps: []model.Step{
			exact("inner", 2, inner, model.Acc{Products: []model.Product{product(low, x)}}),
			exact("out", 5, out, model.Acc{
				Linear:   []model.Linear{{Coef: 3, Src: bias}},
				Products: []model.Product{product(weights, x), product(up, inner)},
			}),
		},
		Inputs: []model.TensorID{x}, Outputs: []model.TensorID{out},
		Base: []model.TensorID{unread, weights},
	}
	c := must.Get(circuitOf(g))
	for _, id := range g.FixedIDs() {
		v := make([]int32, model.Size(g.Tensors[id].Shape))
		for i := range v {
			v[i] = int32((i+7*int(id))*613%41 - 20)
		}
		c.Weights[id] = ints.Of(v)
	}
	c.Inputs = [][]int32{{-100, 3, 100, 0, -41, 7}}
	return c, nil
}

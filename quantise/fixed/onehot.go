package fixed

import (
	"github.com/prove-model/prove-model/prover/circuit/model"

	"github.com/prove-model/prove-model/internal/refuse"
)

// OneHot is 1 where e = 0 and 0 elsewhere, along the last axis, on which e is 0 exactly once. A zero step says that
// the entries of a row add up to 1, so that the verifier knows as well that one is 1 and all others are 0.
func (b *Builder) OneHot(name string, e *Int) model.TensorID {
	if TableBits(e.Min, e.Max) > directBits {
		refuse.With("places up to %d are too many", e.Abs())
	}
	out := b.Mapped(name, e, b.ZeroTable(directBits), 0, 0, 1)
	last := len(e.Shape) - 1
	sum, _ := SumView(e.Shape, []int{last}, false)
	b.Circuit.Steps = append(b.Circuit.Steps, model.Step{
		Kind: model.StepZero, Name: b.StepName, Shape: e.Shape[:last:last], Out: model.None, Lo: model.None, Table: model.None, Den: model.None,
		Acc: model.Acc{Const: -1, Linear: []model.Linear{{Coef: 1, Src: out, View: sum}}},
	})
	b.RowSums[out], b.RowNorms[out] = 1, 1
	return out
}

// ProductTensor is a·b, entry by entry of a shape that has the axes of both (model.Graph.IsProduct). It has b's scale: a is
// of whole numbers.
func (b *Builder) ProductTensor(name string, shape []int, x model.TensorID, lx []int, y model.TensorID, ly []int) model.TensorID {
	all := within(&b.Circuit.Tensors[x]).Mul(within(&b.Circuit.Tensors[y]))
	return b.Add(model.Tensor{Name: name, Shape: shape, Kind: model.Virtual, Frac: b.Circuit.Tensors[y].Frac, Min: all.Min, Max: all.Max,
		Product: &model.Product{Coef: 1, A: x, B: y, LabelsA: lx, LabelsB: ly}})
}

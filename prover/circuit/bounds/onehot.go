package bounds

import (
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// OneHot returns the tensor and the axis that a zero step is about which says that the entries along the axis add up to
// 1: Σ t − 1 = 0 for every index of the other axes. If the entries are 0 or 1, exactly one of them is 1.
func OneHot(g *model.Graph, s *model.Step) (id model.TensorID, axis int, ok bool) {
	if s.Kind != model.StepZero || s.Acc.Const != -1 || len(s.Acc.Linear) != 1 || len(s.Acc.Products) != 0 {
		return 0, 0, false
	}
	l := &s.Acc.Linear[0]
	if l.Coef != 1 || l.View == nil || l.View.Fill != 0 {
		return 0, 0, false
	}
	shape := g.Tensors[l.Src].Shape
	axis = -1
	for i := range l.View.Groups {
		k := &l.View.Groups[i]
		if k.Map != model.MapAffine || k.Base != 0 || len(k.In) != 1 {
			return 0, 0, false
		}
		switch {
		case len(k.Out) == 0 && axis < 0 && slices.Equal(k.Sum, []model.SumIndex{{Dim: shape[k.In[0]], Stride: 1}}):
			axis = k.In[0]
		case len(k.Out) == 1 && len(k.Sum) == 0 && k.Strides[0] == 1 && s.Shape[k.Out[0]] == shape[k.In[0]]:
		default:
			return 0, 0, false
		}
	}
	return l.Src, axis, axis >= 0
}

// single returns the label of a product along which at most one term of its sums is not 0: one operand is itself a
// product with a tensor that has one 1 along that axis, of those in hot. It returns −1 if there is none.
func single(g *model.Graph, p *model.Product, rank int, hot map[model.TensorID]int) int {
	for _, op := range []struct {
		id     model.TensorID
		labels []int
	}{{p.A, p.LabelsA}, {p.B, p.LabelsB}} {
		q := g.Tensors[op.id].Product
		if q == nil {
			continue
		}
		axis, ok := hot[q.A]
		if !ok {
			continue
		}
		one := true // along it alone: where the 1 is depends on all other indexes
		for i, l := range q.LabelsA {
			one = one && (i == axis) == (op.labels[l] >= rank)
		}
		if one {
			return op.labels[q.LabelsA[axis]]
		}
	}
	return -1
}

package bounds

import (
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// OneHot reports whether a step is a zero step which says that the entries of a tensor along an axis add up to 1, Σ t − 1 = 0 for
// every index of the other axes, and returns the tensor and the axis. If all entries are 0 or 1, exactly one along the axis is then 1.
func OneHot(g *model.Graph, s *model.Step) (id model.TensorID, axis int, ok bool) {
	if s.Kind != model.StepZero || s.Acc.Const != -1 || len(s.Acc.Linear) != 1 || len(s.Acc.Products) != 0 {
		return 0, 0, false
	}
	l := &s.Acc.Linear[0]
	if l.Coef != 1 || l.View == nil || l.View.Fill != 0 {
		return 0, 0, false
	}
	axis, ok = summedAxis(l.View, s.Shape, g.Tensors[l.Src].Shape)
	return l.Src, axis, ok
}

// summedAxis returns the axis of a source that a view sums over completely, if there is exactly one and every other axis of the source is
// an axis of the output, index by index.
func summedAxis(v *model.View, out, in []int) (axis int, ok bool) {
	axis = -1
	for i := range v.Groups {
		k := &v.Groups[i]
		if k.Map != model.MapAffine || k.Base != 0 || len(k.In) != 1 {
			return 0, false
		}
		length := in[k.In[0]]
		sums := len(k.Out) == 0 && slices.Equal(k.Sum, []model.SumIndex{{Dim: length, Stride: 1}})
		keeps := len(k.Out) == 1 && len(k.Sum) == 0 && k.Strides[0] == 1 && out[k.Out[0]] == length
		switch {
		case sums && axis < 0:
			axis = k.In[0]
		case !keeps:
			return 0, false
		}
	}
	return axis, axis >= 0
}

// operand is one of the two tensors of a product.
type operand struct {
	id     model.TensorID
	labels []int
}

// operands returns both operands of a product.
func operands(p *model.Product) [2]operand { return [...]operand{{p.A, p.LabelsA}, {p.B, p.LabelsB}} }

// single returns a contracted label of a product along which at most one term of each sum is not 0, or −1 if there is none. There is
// one if an operand is itself a product with a tensor that has exactly one 1 along the axis of that label. hot has such tensors and axes;
// rank is the number of axes of the output.
func single(g *model.Graph, p *model.Product, rank int, hot map[model.TensorID]int) int {
	for _, op := range operands(p) {
		q := g.Tensors[op.id].Product
		if q == nil {
			continue
		}
		axis, ok := hot[q.A]
		if !ok {
			continue
		}
		one := true // all other axes of that tensor are axes of the output, so that one entry of the output has one place of the 1
		for i, l := range q.LabelsA {
			one = one && (i == axis) == (op.labels[l] >= rank)
		}
		if one {
			return op.labels[q.LabelsA[axis]]
		}
	}
	return -1
}

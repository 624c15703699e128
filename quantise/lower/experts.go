package lower

import (
	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

func init() {
	register(lowerSlots, always[graph.Slots](Traits{}))
	register(lowerInSlots, always[graph.InSlots](Traits{}))
	register(lowerExperts, always[graph.Experts](Traits{Product: expertsProduct, rows: true}))
	register(lowerMixSlots, always[graph.MixSlots](Traits{}))
}

// lowerSlots lowers slots, which are exact for the scores as they are rounded.
func lowerSlots(l *lowering, op graph.Slots, v *value, in []*value) {
	v.id = l.Slots(v.name, l.tensor(in[0]), op.Count)
}

// lowerInSlots lowers a sum of which one term is not 0: so it is in the range of what is picked, and exact.
func lowerInSlots(l *lowering, _ graph.InSlots, v *value, in []*value) {
	id, slots := l.tensor(in[0]), l.tensor(in[1])
	t := &l.Circuit.Tensors[id]
	v.acc = l.Product(v.shape, slots, []int{0, 1, 2}, id, []int{0, 2}, 1).Within(min(t.Min, 0), max(t.Max, 0))
}

// lowerExperts lowers products with the matrices of slots' experts: Σ_{e,k} slots(t, c, e)·x(t, k)·w(e, j, k), whose
// sums have the terms of one expert. Slots times x are a tensor that is never made.
func lowerExperts(l *lowering, _ graph.Experts, v *value, in []*value) {
	x, t := in[0], l.fg.Consts[v.node.Inputs[1]]
	slots := l.tensor(in[2])
	count, outputs, inputs := t.Shape[0], t.Shape[1], t.Shape[2]
	shape := []int{v.shape[0], v.shape[1], count, inputs}
	labels := []int{0, 3}
	if len(x.shape) == 3 {
		labels = []int{0, 1, 3}
	}
	w := weighting{
		name: v.node.Inputs[1], t: l.constant(t), shape: t.Shape, labels: []int{3, 2, 4},
		channels: count * outputs, inner: inputs, count: inputs, rows: true, out: v.shape,
		operand: func(id model.TensorID) (model.TensorID, []int) {
			z := fixed.Remember(&l.chosen, [2]model.TensorID{slots, id}, func() model.TensorID {
				return l.ProductTensor(l.Circuit.Tensors[id].Name+", chosen", shape, slots, []int{0, 1, 2}, id, labels)
			})
			return z, []int{0, 1, 3, 4}
		},
	}
	l.weighted(v, l.fold(x, &w, 1), w)
}

// lowerMixSlots lowers a product that sums over slots.
func lowerMixSlots(l *lowering, _ graph.MixSlots, v *value, in []*value) {
	l.contract(v, v.node.Inputs[0], []int{0, 2, 1}, v.node.Inputs[1], []int{0, 2}, "")
}

package lower

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

func init() {
	register(lowerGemm, func(op graph.Gemm) Traits {
		return Traits{Product: gemmProduct, rows: !op.TransA, broadcasts: func(operand, _, _ int) bool { return operand == 2 }}
	})
	register(lowerMatMul, always[graph.MatMul](Traits{
		Product: MatMulProduct, rows: true, broadcasts: func(_, axis, rank int) bool { return axis < rank-2 },
	}))
	register(lowerSlots, always[graph.Slots](Traits{}))
	register(lowerInSlots, always[graph.InSlots](Traits{}))
	register(lowerExperts, always[graph.Experts](Traits{Product: expertsProduct, rows: true}))
	register(lowerMixSlots, always[graph.MixSlots](Traits{}))
}

// lowerGemm lowers A'·B' + C, where A' and B' are A and B, transposed if op says so. There is a bias C only if A or B
// is constant.
func lowerGemm(l *lowering, op graph.Gemm, v *value, in []*value) {
	la, lb := []int{0, 2}, []int{2, 1}
	if op.TransA {
		la = []int{2, 0}
	}
	if op.TransB {
		lb = []int{1, 2}
	}
	l.contract(v, in, la, lb)
}

// lowerMatMul lowers MatMul of any rank from 2, leading axes broadcasting.
func lowerMatMul(l *lowering, _ graph.MatMul, v *value, in []*value) {
	r := len(v.shape)
	labels := func(name string, last ...int) []int {
		return slices.Concat(model.Axes(r)[r-len(l.fg.Shapes[name]):r-2], last)
	}
	l.contract(v, in, labels(v.node.Inputs[0], r-2, r), labels(v.node.Inputs[1], r, r-1))
}

// contract lowers v = Σ a·b, a sum along one axis of each operand. la and lb have one label for each axis of a and of b, as
// in model.Product: the number of the axis of v that it is, also for an axis that broadcasts, or a larger number for the summed
// axis. To a product with weights it adds the node's third operand, a constant bias that broadcasts, if there is one.
func (l *lowering) contract(v *value, in []*value, la, lb []int) {
	summed := func(labels []int) int {
		return slices.IndexFunc(labels, func(lab int) bool { return lab >= len(v.shape) })
	}
	a, b, names := in[0], in[1], v.node.Inputs
	k := l.fg.Shapes[names[0]][summed(la)]
	if a != nil && b != nil {
		k := l.most(k)
		c := contraction{k, summed(la) == len(la)-1, summed(lb) == len(lb)-1}
		sum := func(ida, idb model.TensorID) *fixed.Int {
			reach := int64(l.reach(ida, idb, c))
			ida, la := l.DropBroadcast(ida, la, v.shape)
			idb, lb := l.DropBroadcast(idb, lb, v.shape)
			e := l.Product(v.shape, ida, la, idb, lb, k)
			return e.Within(max(e.Min, -reach), min(e.Max, reach))
		}
		v.acc = l.productOf(v, a, b, c, sum)
		return
	}
	x, name := a, names[1]
	if a == nil { // exchange the factors, so that the weights are the second one
		x, name, la, lb = b, names[0], lb, la
	}
	t, at := l.fg.Consts[name], summed(lb)
	kept, shape := fixed.KeptLabels(t.Shape, lb, v.shape)
	// The weights' channels are the indexes of all their output axes. If the contracted axis is last, a channel is a
	// block of k weights; otherwise it is the index of the axes after the contracted one, so that channels which
	// differ only in the axes before count as one. That only loosens the bound.
	channels, inner := model.Size(t.Shape[at+1:]), 1
	if at == len(t.Shape)-1 {
		channels, inner = t.Len()/k, k
	}
	w := weighting{
		name: name, t: l.constant(t), shape: shape, labels: kept, channels: channels, inner: inner, count: k,
		rows: summed(la) == len(la)-1, out: v.shape,
		operand: func(id model.TensorID) (model.TensorID, []int) { return l.DropBroadcast(id, la, v.shape) },
	}
	if len(names) > 2 {
		c := l.fg.Consts[names[2]]
		w.bias = bias{names[2], l.numbersOf(c), c.Shape, fixed.BroadcastView(c.Shape, v.shape)}
	}
	l.weighted(v, l.fold(x, &w, model.Size(t.Shape[at+1:])), w)
}

// lowerSlots lowers the choice of the experts with the greatest scores. It is exact for the scores as they have been rounded.
func lowerSlots(l *lowering, op graph.Slots, v *value, in []*value) {
	v.id = l.Slots(v.name, l.tensor(in[0]), op.Count)
}

// lowerInSlots lowers Σ_e slots(t, c, e)·x(t, e). At most one term of the sum is not 0, so that the sum is exact and in the range of
// x's entries.
func lowerInSlots(l *lowering, _ graph.InSlots, v *value, in []*value) {
	id, slots := l.tensor(in[0]), l.tensor(in[1])
	t := &l.Circuit.Tensors[id]
	v.acc = l.Product(v.shape, slots, []int{0, 1, 2}, id, []int{0, 2}, 1).Within(min(t.Min, 0), max(t.Max, 0))
}

// lowerExperts lowers products of rows with the matrices of the experts in their slots: Σ_{e,k} slots(t, c, e)·x(t, k)·w(e, j, k).
// A slot is one expert, so that each sum has the bound of one expert's terms. The factor slots·x is a virtual tensor, which is not
// committed to and which nodes with the same operands share.
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

// lowerMixSlots lowers Σ_c x(t, c, j)·w(t, c), a sum over the slots of a row.
func lowerMixSlots(l *lowering, _ graph.MixSlots, v *value, in []*value) {
	l.contract(v, in, []int{0, 2, 1}, []int{0, 2})
}

package lower

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

func init() { register(lowerMaxPool, always[graph.MaxPool](Traits{})) }

// mostSpread is the largest difference that a table of max(x, 0) is made for.
const mostSpread = 1 << 14

// lowerGreatest lowers ReduceMax: the axes become the last, and a tournament along
// it says which element is the greatest. It is exact.
func lowerGreatest(l *lowering, n *graph.Node, op graph.Reduce, v *value) {
	id := l.tensor(l.values[n.Inputs[0]])
	t := l.Circuit.Tensors[id]
	var perm, shape []int
	count := 1
	for i, d := range t.Shape {
		if slices.Contains(op.Axes, i) {
			count *= d
		} else {
			perm, shape = append(perm, i), append(shape, d)
		}
	}
	perm = append(perm, op.Axes...)
	if !slices.IsSorted(perm) {
		moved := slices.Clone(shape)
		for _, i := range op.Axes {
			moved = append(moved, t.Shape[i])
		}
		id = l.Viewed(t.Name, id, fixed.Permuted(perm), moved)
	}
	v.id = l.Greatest(v.name, l.Reshaped(t.Name, id, append(shape, count)), t.Max-t.Min > mostSpread)
}

// lowerMaxPool lowers MaxPool: the maximum along each spatial axis in turn,
// tap by tap.
func lowerMaxPool(l *lowering, n *graph.Node, op graph.MaxPool, v *value) {
	id := l.comparable(l.values[n.Inputs[0]])
	for i, w := range windows(op.Window) {
		id = l.WindowMax(v.name, id, 2+i, w, v.shape[2+i])
	}
	v.id = id
}

// comparable returns the value's tensor narrow enough for a difference table.
func (l *lowering) comparable(x *value) model.TensorID { return l.within(x, l.narrowBitsOf(x)) }

// within is comparable with a table for differences of values of so many bits.
func (l *lowering) within(x *value, bits int) model.TensorID {
	id := l.tensor(x)
	if l.Circuit.Tensors[id].Max-l.Circuit.Tensors[id].Min >= 1<<(bits+2) {
		return l.narrowed(x, bits)
	}
	return id
}

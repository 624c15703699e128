package lower

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
	"github.com/prove-model/prove-model/quantise/weights"
)

func init() { register(lowerTake, always[graph.Take](Traits{})) }

// lowerTake lowers Take at indices that are an input of the model: a view that the
// statement wires. Of a constant, such as an embedding, it takes rows as they are
// committed, without rounding.
func lowerTake(l *lowering, n *graph.Node, op graph.Take, v *value) {
	at := l.values[n.Inputs[1]]
	if at == nil {
		refuse.With("its indices are constant, and its operand is not") // a Gather
	}
	ids := l.raw(at)
	if t := &l.Circuit.Tensors[ids]; t.Kind != model.Input {
		refuse.With("its indices %s must be an input of the model, possibly reshaped; they are computed", graph.Quote(n.Inputs[1]))
	}
	var id model.TensorID
	var rank int
	if x := l.values[n.Inputs[0]]; x != nil {
		id, rank = l.tensor(x), len(x.shape)
		if l.open(n.Inputs[0], op.Axis) {
			id = l.extended(id, op.Axis)
		}
	} else {
		t := l.fg.Consts[n.Inputs[0]]
		id, rank = l.rows(v, n.Inputs[0], t), len(t.Shape)
	}
	span := len(at.shape) // of the output, in the place of the axis
	w := &model.View{}
	for i := range rank {
		switch {
		case i < op.Axis:
			w.Groups = append(w.Groups, fixed.Axis(i, i))
		case i > op.Axis:
			w.Groups = append(w.Groups, fixed.Axis(i-1+span, i))
		default:
			g := model.Group{In: []int{i}, Map: model.MapPublic, Ids: ids}
			for j := range span {
				g.Out = append(g.Out, i+j)
			}
			w.Groups = append(w.Groups, g)
		}
	}
	v.id = l.Viewed(v.name, id, w, v.shape)
}

// extended is a tensor as long along an axis of free length as that can be, with zeros
// after its entries: public indexes are in one range for every length.
func (l *lowering) extended(id model.TensorID, axis int) model.TensorID {
	t := l.Circuit.Tensors[id]
	shape := slices.Clone(t.Shape)
	shape[axis] = l.length.bound
	e := l.View(id, model.SameIndexes(len(shape)), shape)
	return l.VirtualOf(t.Name, e.Within(min(t.Min, 0), max(t.Max, 0)))
}

// rows adds a constant of which rows are read, as precise as weights are, or as the
// value's own format asks for. Whole numbers stay what they are.
func (l *lowering) rows(v *value, name string, t *graph.Tensor) model.TensorID {
	bits := max(l.opts.WeightBits-1, min(l.formatted(v), 24))
	w := l.constant(t)
	most := l.memory.weights.Largest(w)
	frac := 0
	if most > 0 {
		frac = fixed.FloorLog2(float64(int64(1)<<bits-1) / most)
	}
	scales := l.opts.Base.scalesOf(name, t.Shape, func(frac int, reach int64) bool { return reach == int64(math.Round(most*fixed.Pow2(frac))) })
	if len(scales) > 0 && !slices.Contains(scales, frac) {
		frac = scales[0]
	}
	if !t.DType.IsFloat() {
		if frac = 0; most >= model.Bound {
			refuse.With("constant %q has integers of up to %.10g: a circuit holds exact ones within ±2^30", name, most)
		}
	}
	reach := int64(math.Round(most * fixed.Pow2(frac)))
	return l.rounded(name, w, t.Shape, frac, reach, weights.RoundedTo(most, frac, 0))
}

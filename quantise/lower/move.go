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

func init() {
	register(lowerReshape[graph.Reshape], always[graph.Reshape](Traits{moves: rearranges}))
	register(lowerReshape[graph.Identity], always[graph.Identity](Traits{moves: keeps}))
	register(lowerReshape[graph.Narrow], always[graph.Narrow](Traits{moves: keeps})) // which only changes runs of the float model
	register(lowerReshape[graph.Convert], always[graph.Convert](Traits{moves: keeps}))
	registerView(rearranges, func(op graph.Transpose, _, _ []int) *model.View { return fixed.Permuted(op.Perm) })
	registerView(rearranges, func(_ graph.Expand, in, out []int) *model.View { return fixed.BroadcastView(in, out) })
	registerView(selects, sliceView)
	registerView(selects, func(op graph.Gather, in, _ []int) *model.View {
		w := model.SameIndexes(len(in))
		w.Groups[op.Axis] = picked(op.Axis, op.Indices)
		return w
	})
	registerView(selects, tileView)
	register(lowerPad, always[graph.Pad](Traits{moves: pads}))
	register(lowerConcat, func(op graph.Concat) Traits {
		return Traits{moves: joins, broadcasts: func(_, axis, _ int) bool { return axis != op.Axis }}
	})
	register(lowerTake, always[graph.Take](Traits{}))
}

// lowerReshape lowers operators that keep the entries in their row-major order. Nothing is
// computed, and an operand that no tensor holds yet remains without one.
func lowerReshape[Op graph.Op](l *lowering, _ Op, v *value, in []*value) {
	switch x := in[0]; {
	case x == nil: // a constant that is an output
		v.id = l.constantOutput(v.node.Inputs[0], v.name)
	case x.uses == 1 && x.id == model.None:
		v.acc, v.fn = x.acc, x.fn
	default:
		v.id = l.raw(x)
	}
}

// registerView adds to the table an operator whose result is a view of its operand. view makes the view for the shapes of
// operand and result.
func registerView[Op graph.Op](how moves, view func(op Op, in, out []int) *model.View) {
	register(func(l *lowering, op Op, v *value, in []*value) {
		v.id = l.Viewed(v.name, l.tensor(in[0]), view(op, in[0].shape, v.shape), v.shape)
	}, always[Op](Traits{moves: how}))
}

// sliceView is the view of a Slice: index i of an axis reads index start + i·step.
func sliceView(op graph.Slice, in, _ []int) *model.View {
	w := model.SameIndexes(len(in))
	for i := range w.Groups {
		w.Groups[i].Base, w.Groups[i].Strides = op.Starts[i], []int{op.Steps[i]}
	}
	return w
}

// tileView is the view of a Tile: index i of an axis reads index i modulo the dimension of the operand's axis.
func tileView(_ graph.Tile, in, out []int) *model.View {
	w := model.SameIndexes(len(out))
	for i, d := range out {
		if d != in[i] {
			index := model.Axes(d)
			for j := range index {
				index[j] %= in[i]
			}
			w.Groups[i] = picked(i, index)
		}
	}
	return w
}

// picked is the group of an axis whose index i reads index indexes[i] of the same axis of the source.
func picked(axis int, indexes []int) model.Group {
	return model.Group{Out: []int{axis}, In: []int{axis}, Map: model.MapIndex, Index: indexes}
}

// lowerPad lowers Pad as a view with a fill value, rounded to the operand's scale. If the fill value has more than three bits beyond
// the shared ones on that scale, the operand is rounded to a coarser one first.
func lowerPad(l *lowering, op graph.Pad, v *value, in []*value) {
	x := in[0]
	id := l.tensor(x)
	value := op.Value
	refuse.If(math.IsInf(value, 0) || math.IsNaN(value), "padding with %g", value)
	if most := fixed.Pow2(l.Plan.Bits + 3); !l.integers(v.name) && math.Abs(value)*fixed.Pow2(l.Circuit.Tensors[id].Frac) > most {
		// The padding sets the scale.
		id = l.RoundTo(x.name, l.Of(id), fixed.FloorLog2(most/math.Abs(value)))
	}
	frac := l.Circuit.Tensors[id].Frac
	fill := math.Round(value * fixed.Pow2(frac))
	if math.Abs(fill) >= model.Bound {
		refuseInteger(math.Abs(fill))
	}
	w := model.SameIndexes(len(v.shape))
	w.Fill = int64(fill)
	for i := range w.Groups {
		w.Groups[i].Base = -op.Begin[i]
	}
	v.id = l.Viewed(v.name, id, w, v.shape)
}

// lowerConcat lowers Concat as the sum of its parts, each moved to its place.
func lowerConcat(l *lowering, op graph.Concat, v *value, in []*value) {
	var terms []term
	views, at, most := make([]*model.View, len(in)), 0, 0.0
	for part, name := range v.node.Inputs {
		shape := l.fg.Shapes[name]
		w := model.SameIndexes(len(shape))
		for i := range shape {
			if i != op.Axis && shape[i] < v.shape[i] { // a constant whose axis shrinkConstants has shrunk is repeated
				w.Groups[i].Strides = []int{0}
			}
		}
		w.Groups[op.Axis].Base = -at
		at += shape[op.Axis]
		views[part] = w
		if x := in[part]; x != nil {
			terms = append(terms, term{x, l.View(l.tensor(x), w, v.shape)})
		} else {
			most = math.Max(most, l.numbersOf(l.fg.Consts[name]).most())
		}
	}
	e := l.align(terms, most, v)
	for part, name := range v.node.Inputs {
		if t := l.fg.Consts[name]; t != nil {
			e = e.Plus(l.View(l.constantOf(name, t.Shape, l.numbersOf(t), e.Frac), views[part], v.shape))
		}
	}
	var lo, hi int64 // an entry comes from one part and is 0 in the others: the bounds are not those of a sum
	for _, t := range e.Acc.Linear {
		s := &l.Circuit.Tensors[t.Src]
		lo, hi = min(lo, s.Min*t.Coef), max(hi, s.Max*t.Coef)
	}
	v.acc = e.Within(lo, hi)
}

// lowerTake lowers Take at indices that are an input of the model, as a view whose wiring follows from the public
// indices. Rows of a constant, such as an embedding, are taken from its fixed tensor, without further
// rounding.
func lowerTake(l *lowering, op graph.Take, v *value, in []*value) {
	at := in[1]
	if at == nil {
		refuse.With("its indices are constant, and its operand is not") // a Gather
	}
	ids := l.raw(at)
	if t := &l.Circuit.Tensors[ids]; t.Kind != model.Input {
		refuse.With("its indices %s must be an input of the model, possibly reshaped; they are computed", graph.Quote(v.node.Inputs[1]))
	}
	var id model.TensorID
	var rank int
	if x := in[0]; x != nil {
		id, rank = l.tensor(x), len(x.shape)
		if l.open(v.node.Inputs[0], op.Axis) {
			id = l.extended(id, op.Axis)
		}
	} else {
		t := l.fg.Consts[v.node.Inputs[0]]
		id, rank = l.rows(v, v.node.Inputs[0], t), len(t.Shape)
	}
	span := len(at.shape) // of the output, in the place of the axis
	w := model.SameIndexes(rank)
	w.Groups[op.Axis] = model.Group{
		In: []int{op.Axis}, Map: model.MapPublic, Ids: ids, Out: slices.Concat(model.Axes(op.Axis + span)[op.Axis:]), // nil for none
	}
	for i := op.Axis + 1; i < rank; i++ {
		w.Groups[i] = fixed.Axis(i-1+span, i)
	}
	v.id = l.Viewed(v.name, id, w, v.shape)
}

// extended is a tensor that is padded with zeros, along an axis of free length, to the bound of the length, so that public
// indexes into it have the same range for every length.
func (l *lowering) extended(id model.TensorID, axis int) model.TensorID {
	t := l.Circuit.Tensors[id]
	shape := slices.Clone(t.Shape)
	shape[axis] = l.length.most
	e := l.View(id, model.SameIndexes(len(shape)), shape)
	return l.VirtualOf(t.Name, e.Within(min(t.Min, 0), max(t.Max, 0)))
}

// rows adds the fixed tensor of a constant whose rows v reads. It has the bits that weights have, or those of v's
// format, up to 24, if that has more; in an adapter, the base's scale. Whole numbers are on scale 0.
func (l *lowering) rows(v *value, name string, t *graph.Tensor) model.TensorID {
	bits := max(l.opts.WeightBits-1, min(l.formatted(v), 24))
	w := l.constant(t)
	most := l.memory.weights.Largest(w)
	frac := scaleOf(bits, most)
	reachOn := func(frac int) int64 { return int64(math.Round(most * fixed.Pow2(frac))) }
	scales := l.opts.Base.scalesOf(name, t.Shape, func(frac int, reach int64) bool { return reach == reachOn(frac) })
	if len(scales) > 0 && !slices.Contains(scales, frac) {
		frac = scales[0]
	}
	if !t.DType.IsFloat() {
		if frac = 0; most >= model.Bound {
			refuse.With("constant %q has integers of up to %.10g: a circuit holds exact ones within ±2^30", name, most)
		}
	}
	return l.rounded(name, w, t.Shape, frac, reachOn(frac), weights.RoundedTo(most, frac, 0))
}

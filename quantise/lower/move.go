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
	register(lowerReshape[graph.Narrow], always[graph.Narrow](Traits{moves: keeps})) // of runs alone
	register(lowerReshape[graph.Convert], always[graph.Convert](Traits{moves: keeps}))
	register(lowerTranspose, always[graph.Transpose](Traits{moves: rearranges}))
	register(lowerExpand, always[graph.Expand](Traits{moves: rearranges}))
	register(lowerSlice, always[graph.Slice](Traits{moves: selects}))
	register(lowerGather, always[graph.Gather](Traits{moves: selects}))
	register(lowerTile, always[graph.Tile](Traits{moves: selects}))
	register(lowerPad, always[graph.Pad](Traits{moves: pads}))
	register(lowerConcat, func(op graph.Concat) Traits {
		return Traits{moves: joins, broadcasts: func(_, axis, _ int) bool { return axis != op.Axis }}
	})
	register(lowerTake, always[graph.Take](Traits{}))
}

// lowerReshape lowers what keeps the entries in their order: nothing is
// computed, and a value that no tensor holds yet stays so.
func lowerReshape[Op graph.Op](l *lowering, n *graph.Node, _ Op, v *value) {
	x := l.values[n.Inputs[0]]
	if x == nil { // a constant that is an output
		v.id = l.constantOutput(n.Inputs[0], v.name)
		return
	}
	if x.uses == 1 && x.id == model.None {
		v.acc, v.fn = x.acc, x.fn
		return
	}
	v.id = l.raw(x)
}

// view makes v a virtual tensor: one view of x.
func (l *lowering) view(v, x *value, w *model.View) {
	v.id = l.Viewed(v.name, l.tensor(x), w, v.shape)
}

func lowerTranspose(l *lowering, n *graph.Node, op graph.Transpose, v *value) {
	l.view(v, l.values[n.Inputs[0]], fixed.Permuted(op.Perm))
}

func lowerSlice(l *lowering, n *graph.Node, op graph.Slice, v *value) {
	w := model.SameIndexes(len(v.shape))
	for i := range w.Groups {
		w.Groups[i].Base, w.Groups[i].Strides = op.Starts[i], []int{op.Steps[i]}
	}
	l.view(v, l.values[n.Inputs[0]], w)
}

func lowerGather(l *lowering, n *graph.Node, op graph.Gather, v *value) {
	w := model.SameIndexes(len(v.shape))
	w.Groups[op.Axis] = model.Group{Out: []int{op.Axis}, In: []int{op.Axis}, Map: model.MapIndex, Index: op.Indices}
	l.view(v, l.values[n.Inputs[0]], w)
}

func lowerPad(l *lowering, n *graph.Node, op graph.Pad, v *value) {
	x := l.values[n.Inputs[0]]
	id := l.tensor(x)
	value := op.Value
	if math.IsInf(value, 0) || math.IsNaN(value) {
		refuse.With("padding with %g", value)
	}
	if most := fixed.Pow2(l.Plan.Bits + 3); !l.integers(v.name) && math.Abs(value)*fixed.Pow2(l.Circuit.Tensors[id].Frac) > most {
		// The padding sets the scale.
		id = l.RoundTo(x.name, l.View(id, nil, x.shape), fixed.FloorLog2(most/math.Abs(value)))
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
func lowerConcat(l *lowering, n *graph.Node, op graph.Concat, v *value) {
	axisAt := op.Axis
	var terms []term
	views := make([]*model.View, len(n.Inputs))
	at := 0
	most := 0.0
	for part, name := range n.Inputs {
		shape := l.fg.Shapes[name]
		w := model.SameIndexes(len(shape))
		for i := range shape {
			if i != axisAt && shape[i] < v.shape[i] { // shrinkConstants
				w.Groups[i].Strides = []int{0}
			}
		}
		w.Groups[axisAt].Base = -at
		at += shape[axisAt]
		views[part] = w
		if x := l.values[name]; x != nil {
			terms = append(terms, term{x, l.View(l.tensor(x), w, v.shape)})
		} else {
			most = math.Max(most, l.numbersOf(l.fg.Consts[name]).most())
		}
	}
	e := l.align(terms, most, v)
	for part, name := range n.Inputs {
		if t := l.fg.Consts[name]; t != nil {
			e = e.Plus(l.View(l.constantOf(name, t.Shape, l.numbersOf(t), e.Frac), views[part], v.shape))
		}
	}
	var lo, hi int64 // entries come from one part each
	for _, t := range e.Acc.Linear {
		s := &l.Circuit.Tensors[t.Src]
		lo, hi = min(lo, s.Min*t.Coef), max(hi, s.Max*t.Coef)
	}
	v.acc = e.Within(lo, hi)
}

func lowerExpand(l *lowering, n *graph.Node, _ graph.Expand, v *value) {
	x := l.values[n.Inputs[0]]
	l.view(v, x, fixed.BroadcastView(x.shape, v.shape))
}

func lowerTile(l *lowering, n *graph.Node, _ graph.Tile, v *value) {
	x := l.values[n.Inputs[0]]
	w := model.SameIndexes(len(v.shape))
	for i, d := range v.shape {
		if d != x.shape[i] {
			index := make([]int, d)
			for j := range index {
				index[j] = j % x.shape[i]
			}
			w.Groups[i] = model.Group{Out: []int{i}, In: []int{i}, Map: model.MapIndex, Index: index}
		}
	}
	l.view(v, x, w)
}

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

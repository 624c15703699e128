package quantise

import (
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/bounds"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

func init() { register(lowerMaxPool, always[graph.MaxPool](traits{})) }

// greater returns a virtual tensor, of the given shape, with the larger of two
// views of src entry by entry: b + relu(a − b), where the look-up forces the
// relu and nothing else is left to choose.
func (l *builder) greater(name string, src model.TensorID, a, b *model.View, shape []int) model.TensorID {
	t := l.g.Tensors[src]
	spread := t.Max - t.Min
	diff := &expr{shape: shape, frac: t.Frac, min: -spread, max: spread}
	diff.acc.Linear = []model.Linear{{Coef: 1, Src: src, View: a}, {Coef: -1, Src: src, View: b}}
	relu := l.witness(name, shape, t.Frac, 0, spread)
	l.lookup(diff, t.Frac, l.reluTable(spread), relu)
	return l.add(model.Tensor{
		Name: name, Shape: shape, Kind: model.Virtual, Frac: t.Frac, Min: t.Min, Max: t.Max,
		Def: []model.Linear{{Coef: 1, Src: src, View: b}, {Coef: 1, Src: relu}},
	})
}

// reluTable is a table of max(x, 0) that is exact for |x| ≤ spread: one that
// the model has already, or else the smallest.
func (l *builder) reluTable(spread int64) model.TableID {
	top := int64(1)<<l.plan.bits - 1
	if l.hasTable(piecewiseName(keep, 0, top, l.plan.tableBits)) && spread <= top {
		return l.piecewise(keep, 0, top)
	}
	bits := model.Log2Ceil(int(spread+1)) + 1
	if bits > model.MaxTableBits {
		refuse("values of %d bits are too wide to compare", bits)
	}
	return l.piecewiseOf(keep, 0, 1<<(bits-1)-1, bits)
}

// lowerMaxPool lowers MaxPool: the maximum along each spatial axis in turn,
// tap by tap.
func lowerMaxPool(l *lowering, n *graph.Node, op graph.MaxPool, v *value) {
	id := l.comparable(l.values[n.Inputs[0]])
	for i, w := range windows(op.Window) {
		id = l.windowMax(v.name, id, 2+i, w, v.shape[2+i])
	}
	v.id = id
}

// comparable returns the value's tensor narrow enough for a difference table.
func (l *lowering) comparable(x *value) model.TensorID { return l.within(x, l.narrowBitsOf(x)) }

// within is comparable with a table for differences of values of so many bits.
func (l *lowering) within(x *value, bits int) model.TensorID {
	id := l.tensor(x)
	if l.g.Tensors[id].Max-l.g.Tensors[id].Min >= 1<<(bits+2) {
		return l.narrowed(x, bits)
	}
	return id
}

// windowMax is the maximum over windows along one axis, of which there are dim.
func (l *builder) windowMax(name string, id model.TensorID, at int, w window, dim int) model.TensorID {
	t := l.g.Tensors[id]
	out := append([]int(nil), t.Shape...)
	out[at] = dim
	// Padding never wins: it counts as the least value there is.
	tap := func(i int) *model.View {
		v := &model.View{Groups: identityGroups(len(out))}
		v.Groups[at] = w.tap(at, at, i)
		if !bounds.Covers(&v.Groups[at], out, t.Shape) {
			v.Fill = t.Min
		}
		return v
	}
	if w.taps == 1 {
		if w.stride == 1 && w.base == 0 && dim == t.Shape[at] {
			return id
		}
		return l.virtual(name, out, []model.Linear{{Coef: 1, Src: id, View: tap(0)}}, t.Frac)
	}
	best := l.greater(name, id, tap(0), tap(1), out)
	for i := 2; i < w.taps; i++ {
		best = l.greaterOf(name, best, id, tap(i), out)
	}
	return best
}

// greaterOf is greater for a tensor of the given shape and a view of src.
func (l *builder) greaterOf(name string, a, src model.TensorID, b *model.View, shape []int) model.TensorID {
	ta, tb := l.g.Tensors[a], l.g.Tensors[src]
	lo, hi := min(ta.Min, tb.Min), max(ta.Max, tb.Max)
	diff := &expr{shape: shape, frac: ta.Frac, min: lo - hi, max: hi - lo}
	diff.acc.Linear = []model.Linear{{Coef: 1, Src: src, View: b}, {Coef: -1, Src: a}}
	relu := l.witness(name, shape, ta.Frac, 0, hi-lo)
	l.lookup(diff, ta.Frac, l.reluTable(hi-lo), relu)
	return l.add(model.Tensor{
		Name: name, Shape: shape, Kind: model.Virtual, Frac: ta.Frac, Min: lo, Max: hi,
		Def: []model.Linear{{Coef: 1, Src: a}, {Coef: 1, Src: relu}},
	})
}

// lastAxisMax is the maximum along the last axis, by halving; the result keeps
// the axis with dimension 1.
func (l *builder) lastAxisMax(name string, id model.TensorID) model.TensorID {
	for {
		t := l.g.Tensors[id]
		at := len(t.Shape) - 1
		k := t.Shape[at]
		if k == 1 {
			return id
		}
		half := (k + 1) / 2
		out := append([]int(nil), t.Shape...)
		out[at] = half
		part := func(base int) *model.View {
			v := &model.View{Groups: identityGroups(len(out))}
			v.Groups[at].Base = base
			return v
		}
		b := part(half)
		if k%2 == 1 {
			b.Fill = t.Min // the odd one out plays against the least value
		}
		id = l.greater(name, id, part(0), b, out)
	}
}

// rowMax is the maximum along the last axis of scores, which the result keeps with
// dimension 1: by halving, or of rows of any length by the step that is for these.
func (l *builder) rowMax(m scores) model.TensorID {
	if !m.open {
		return l.lastAxisMax("maximum", m.id)
	}
	t := l.g.Tensors[m.id]
	last := len(t.Shape) - 1
	rows := t.Shape[:last:last]
	top := l.witness("maximum", rows, t.Frac, t.Min, t.Max)
	step := model.Step{Kind: model.StepMax, Name: l.name, Shape: rows, Lo: model.None, Table: model.None, Out: top, Den: m.id}
	is := l.witness("is the maximum", t.Shape, 0, 0, 1)
	c := l.g.Maximum(&step, is)
	l.g.Steps = append(l.g.Steps, step)

	bits := model.Log2Ceil(int(t.Max-t.Min) + 1)
	if bits > model.MaxTableBits {
		refuse("values of %d bits are too wide to compare", bits)
	}
	bits = max(bits, 1)
	name := fmt.Sprintf("is 0, %d", bits)
	l.lookup(&expr{shape: t.Shape, acc: c.Below, min: t.Min - t.Max, max: 0}, 0, l.addTable(name, model.TopTable(name, bits)), is)
	l.inRange(&expr{shape: rows, acc: c.Found, max: int64(m.width - 1)}, max(model.Log2Ceil(m.width), 1))

	out := append(slices.Clone(rows), 1)
	w := &model.View{Groups: append(identityGroups(last), model.Group{Out: []int{last}, Strides: []int{0}})}
	return l.virtual("maximum", out, []model.Linear{{Coef: 1, Src: top, View: w}}, t.Frac)
}

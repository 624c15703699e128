package fixed

import (
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/bounds"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// WideGreater plays the halves of the last axis against each other: b + c·(a − b),
// where c says whether a ≥ b.
func (b *Builder) WideGreater(name string, id model.TensorID, at int) model.TensorID {
	t := b.Circuit.Tensors[id]
	k := t.Shape[at]
	half := (k + 1) / 2
	out := slices.Clone(t.Shape)
	out[at] = half
	part := func(base int) *model.View {
		v := &model.View{Groups: IdentityGroups(len(out))}
		v.Groups[at].Base = base
		return v
	}
	first, second := part(0), part(half)
	if k%2 == 1 {
		second.Fill = t.Min // the odd one out plays against the least value
	}
	spread := t.Max - t.Min
	diff := &Int{Shape: out, Frac: t.Frac, Min: -spread, Max: spread}
	diff.Acc.Linear = []model.Linear{{Coef: 1, Src: id, View: first}, {Coef: -1, Src: id, View: second}}
	wins := b.NotNegative(name+", wins", diff)
	by := b.VirtualOf(name+", by", diff)
	e := b.rowProduct(out, wins, by, spread).Plus(b.View(id, second, out))
	e.Frac, e.Min, e.Max = t.Frac, t.Min, t.Max
	return b.Exact(name, e)
}

// greater returns a virtual tensor, of the given shape, with the larger of two
// views of src entry by entry: b + relu(a − b), where the look-up forces the
// relu and nothing else is left to choose.
func (b *Builder) greater(name string, src model.TensorID, first, second *model.View, shape []int) model.TensorID {
	t := b.Circuit.Tensors[src]
	spread := t.Max - t.Min
	diff := &Int{Shape: shape, Frac: t.Frac, Min: -spread, Max: spread}
	diff.Acc.Linear = []model.Linear{{Coef: 1, Src: src, View: first}, {Coef: -1, Src: src, View: second}}
	relu := b.Witness(name, shape, t.Frac, 0, spread)
	b.Lookup(diff, t.Frac, b.ReluTable(spread), relu)
	return b.Add(model.Tensor{
		Name: name, Shape: shape, Kind: model.Virtual, Frac: t.Frac, Min: t.Min, Max: t.Max,
		Def: []model.Linear{{Coef: 1, Src: src, View: second}, {Coef: 1, Src: relu}},
	})
}

// ReluTable is a table of max(x, 0) that is exact for |x| ≤ spread: one that
// the model has already, or else the smallest.
func (b *Builder) ReluTable(spread int64) model.TableID {
	top := int64(1)<<b.Plan.Bits - 1
	if b.hasTable(piecewiseName(Keep, 0, top, b.Plan.TableBits)) && spread <= top {
		return b.Piecewise(Keep, 0, top)
	}
	bits := model.Log2Ceil(int(spread+1)) + 1
	if bits > model.MaxTableBits {
		Refuse("values of %d bits are too wide to compare", bits)
	}
	return b.PiecewiseOf(Keep, 0, 1<<(bits-1)-1, bits)
}

// WindowMax is the maximum over windows along one axis, of which there are dim.
func (b *Builder) WindowMax(name string, id model.TensorID, at int, w Window, dim int) model.TensorID {
	t := b.Circuit.Tensors[id]
	out := append([]int(nil), t.Shape...)
	out[at] = dim
	// Padding never wins: it counts as the least value there is.
	tap := func(i int) *model.View {
		v := &model.View{Groups: IdentityGroups(len(out))}
		v.Groups[at] = w.Tap(at, at, i)
		if !bounds.Covers(&v.Groups[at], out, t.Shape) {
			v.Fill = t.Min
		}
		return v
	}
	if w.Taps == 1 {
		if w.Stride == 1 && w.Base == 0 && dim == t.Shape[at] {
			return id
		}
		return b.Virtual(name, out, []model.Linear{{Coef: 1, Src: id, View: tap(0)}}, t.Frac)
	}
	best := b.greater(name, id, tap(0), tap(1), out)
	for i := 2; i < w.Taps; i++ {
		best = b.greaterOf(name, best, id, tap(i), out)
	}
	return best
}

// greaterOf is greater for a tensor of the given shape and a view of src.
func (b *Builder) greaterOf(name string, best, src model.TensorID, v *model.View, shape []int) model.TensorID {
	ta, tb := b.Circuit.Tensors[best], b.Circuit.Tensors[src]
	lo, hi := min(ta.Min, tb.Min), max(ta.Max, tb.Max)
	diff := &Int{Shape: shape, Frac: ta.Frac, Min: lo - hi, Max: hi - lo}
	diff.Acc.Linear = []model.Linear{{Coef: 1, Src: src, View: v}, {Coef: -1, Src: best}}
	relu := b.Witness(name, shape, ta.Frac, 0, hi-lo)
	b.Lookup(diff, ta.Frac, b.ReluTable(hi-lo), relu)
	return b.Add(model.Tensor{
		Name: name, Shape: shape, Kind: model.Virtual, Frac: ta.Frac, Min: lo, Max: hi,
		Def: []model.Linear{{Coef: 1, Src: best}, {Coef: 1, Src: relu}},
	})
}

// LastAxisMax is the maximum along the last axis, by halving; the result keeps
// the axis with dimension 1.
func (b *Builder) LastAxisMax(name string, id model.TensorID) model.TensorID {
	for {
		t := b.Circuit.Tensors[id]
		at := len(t.Shape) - 1
		k := t.Shape[at]
		if k == 1 {
			return id
		}
		half := (k + 1) / 2
		out := append([]int(nil), t.Shape...)
		out[at] = half
		part := func(base int) *model.View {
			v := &model.View{Groups: IdentityGroups(len(out))}
			v.Groups[at].Base = base
			return v
		}
		second := part(half)
		if k%2 == 1 {
			second.Fill = t.Min // the odd one out plays against the least value
		}
		id = b.greater(name, id, part(0), second, out)
	}
}

// rowMax is the maximum along the last axis of scores, which the result keeps with
// dimension 1: by halving, or of rows of any length by the step that is for these.
func (b *Builder) rowMax(m Scores) model.TensorID {
	if !m.Open {
		return b.LastAxisMax("maximum", m.ID)
	}
	t := b.Circuit.Tensors[m.ID]
	last := len(t.Shape) - 1
	rows := t.Shape[:last:last]
	top := b.Witness("maximum", rows, t.Frac, t.Min, t.Max)
	step := model.Step{Kind: model.StepMax, Name: b.StepName, Shape: rows, Lo: model.None, Table: model.None, Out: top, Den: m.ID}
	is := b.Witness("is the maximum", t.Shape, 0, 0, 1)
	c := b.Circuit.Maximum(&step, is)
	b.Circuit.Steps = append(b.Circuit.Steps, step)

	bits := model.Log2Ceil(int(t.Max-t.Min) + 1)
	if bits > model.MaxTableBits {
		Refuse("values of %d bits are too wide to compare", bits)
	}
	bits = max(bits, 1)
	name := fmt.Sprintf("is 0, %d", bits)
	b.Lookup(&Int{Shape: t.Shape, Acc: c.Below, Min: t.Min - t.Max, Max: 0}, 0, b.addTable(name, model.TopTable(name, bits)), is)
	b.inRange(&Int{Shape: rows, Acc: c.Found, Max: int64(m.Width - 1)}, max(model.Log2Ceil(m.Width), 1))

	out := append(slices.Clone(rows), 1)
	w := &model.View{Groups: append(IdentityGroups(last), model.Group{Out: []int{last}, Strides: []int{0}})}
	return b.Virtual("maximum", out, []model.Linear{{Coef: 1, Src: top, View: w}}, t.Frac)
}

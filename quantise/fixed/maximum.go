package fixed

import (
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/bounds"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Greatest is the maximum along the last axis: each round compares the first half of the axis with the
// second, entry by entry. The result keeps the axis, with dimension 1. wide says that two values may
// differ by more than a table of max(x, 0) has keys for.
func (b *Builder) Greatest(name string, id model.TensorID, wide bool) model.TensorID {
	for last := len(b.Circuit.Tensors[id].Shape) - 1; b.Circuit.Tensors[id].Shape[last] > 1; {
		t := b.Circuit.Tensors[id]
		k := t.Shape[last]
		out := slices.Clone(t.Shape)
		out[last] = (k + 1) / 2
		half := func(from int) *Int {
			v := model.SameIndexes(len(out))
			v.Groups[last].Base = from
			if from+out[last] > k {
				v.Fill = t.Min // an entry without a partner is compared with the least value
			}
			return b.View(id, v, out)
		}
		if first, second := half(0), half(out[last]); wide {
			id = b.wideGreater(name, first, second)
		} else {
			id = b.greater(name, first, second)
		}
	}
	return id
}

// greater is a virtual tensor with the larger of two views on one scale, entry by entry:
// y + relu(x − y). The look-up forces the relu, so the prover has no choice.
func (b *Builder) greater(name string, x, y *Int) model.TensorID {
	lo, hi := min(x.Min, y.Min), max(x.Max, y.Max)
	relu := b.Mapped(name, x.Minus(y), b.ReluTable(hi-lo), x.Frac, 0, hi-lo)
	return b.VirtualOf(name, y.Plus(b.Of(relu)).Within(lo, hi))
}

// wideGreater is greater for values whose differences are too many for a table: y + c·(x − y),
// where c is 1 if x ≥ y and 0 otherwise.
func (b *Builder) wideGreater(name string, x, y *Int) model.TensorID {
	diff := x.Minus(y)
	wins := b.NotNegative(name+", wins", diff)
	e := b.rowProduct(x.Shape, wins, b.VirtualOf(name+", by", diff), diff.Max).Plus(y)
	return b.Exact(name, e.On(x.Frac).Within(x.Min, x.Max))
}

// ReluTable is a table of max(x, 0) that is exact for |x| ≤ spread: the model's usual ReLU table if
// it has that already and it is large enough, or else the smallest one.
func (b *Builder) ReluTable(spread int64) model.TableID {
	top := int64(1)<<b.Plan.Bits - 1
	usual := piecewiseName(Keep, 0, top, b.Plan.TableBits)
	if _, have := b.tables[usual]; spread <= top && (have || b.replay.named(usual)) {
		return b.PiecewiseOf(Keep, 0, top, b.Plan.TableBits)
	}
	bits := model.Log2Ceil(int(spread+1)) + 1
	if bits > model.MaxTableBits {
		refuse.With("values of %d bits are too wide to compare", bits)
	}
	return b.PiecewiseOf(Keep, 0, 1<<(bits-1)-1, bits)
}

// WindowMax is the maximum over windows along the axis at. There are dim windows, one for each index
// of that axis of the result.
func (b *Builder) WindowMax(name string, id model.TensorID, at int, w Window, dim int) model.TensorID {
	t := b.Circuit.Tensors[id]
	out := append([]int(nil), t.Shape...)
	out[at] = dim
	// Padding counts as the tensor's least value, so that it never exceeds an entry.
	tap := func(i int) *model.View {
		v := model.SameIndexes(len(out))
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
		return b.Viewed(name, id, tap(0), out)
	}
	best := b.greater(name, b.View(id, tap(0), out), b.View(id, tap(1), out))
	for i := 2; i < w.Taps; i++ {
		best = b.greater(name, b.View(id, tap(i), out), b.View(best, nil, out))
	}
	return best
}

// rowMax is the maximum along the last axis of scores; the result keeps the axis, with
// dimension 1. If the length of rows is free it takes a StepMax (top), otherwise halving (Greatest).
func (b *Builder) rowMax(m Scores) model.TensorID {
	if !m.Open {
		return b.Greatest("maximum", m.ID, false)
	}
	t := b.Circuit.Tensors[m.ID]
	last := len(t.Shape) - 1
	rows := t.Shape[:last:last]
	top, _ := b.top(m.ID, m.Width, t.Max-t.Min, t.Min, t.Max)
	out := append(slices.Clone(rows), 1)
	return b.Viewed("maximum", top, LabelView(model.Axes(last), out), out)
}

// top returns the greatest entry of every row along the last axis of a tensor, which is in [lo, hi], and a tensor that is 1 at each
// entry that equals it and 0 elsewhere (model.Maximum). Rows have at most width entries, and none is more than spread below the greatest.
func (b *Builder) top(id model.TensorID, width int, spread, lo, hi int64) (top, is model.TensorID) {
	t := b.Circuit.Tensors[id]
	last := len(t.Shape) - 1
	rows := t.Shape[:last:last]
	top = b.Witness("maximum", rows, t.Frac, lo, hi)
	step := b.step(model.StepMax, rows, model.Acc{})
	step.Out, step.Den = top, id
	is = b.Witness("is the maximum", t.Shape, 0, 0, 1)
	c := b.Circuit.Maximum(&step, is)
	b.addStep(step)

	bits := model.Log2Ceil(int(spread) + 1)
	if bits > model.MaxTableBits {
		refuse.With("values of %d bits are too wide to compare", bits)
	}
	bits = max(bits, 1)
	table := b.addTable(model.TopTable(fmt.Sprintf("is 0, %d", bits), bits))
	b.Lookup(&Int{Shape: t.Shape, Acc: c.Below, Min: -spread, Max: 0}, 0, table, is)
	b.InRange(&Int{Shape: rows, Acc: c.Found, Max: int64(width - 1)}, max(model.Log2Ceil(width), 1))
	return top, is
}

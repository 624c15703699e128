package fixed

import (
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// slotTable is the largest table, in bits, that Slots takes to find the greatest score of a row (top).
const slotTable = WideTable + 1

// Slots returns a tensor of shape [rows, count, experts], from scores of shape [rows, experts]: its entry c of a row is 1 at the expert
// with the c-th greatest score of that row (from c = 0 on) and 0 elsewhere. Of equal scores the first comes first.
//
// Slot by slot it finds the greatest score of those that are left (StepMax): z is 1 where a score equals it, and the first of these
// entries is the slot's expert. For the next slot that expert's score is lowered by more than the spread of all scores, so that it is
// below all others. A row takes 3 look-ups for each slot and expert, rather than some for each pair of experts.
func (b *Builder) Slots(name string, id model.TensorID, count int) model.TensorID {
	t := b.Circuit.Tensors[id]
	spread := t.Max - t.Min
	if model.Log2Ceil(int(2*spread)+2) > slotTable {
		return b.slotsOfPairs(name, id, count)
	}
	n := t.Shape[1]
	before := b.Formula("before", []int{n, n}, 0, &model.Formula{Kind: model.AtMost, Offset: -1}, 0, 1)
	left := b.View(id, nil, t.Shape)
	var all []model.Linear // z of all slots
	for c := range count {
		of := id
		if c > 0 {
			of = b.VirtualOf(name+", left", left)
		}
		_, z := b.top(of, n, 2*spread+1, t.Min, t.Max)
		place := model.Group{Out: []int{1}, Base: -c, Strides: []int{1}}
		all = append(all, model.Linear{Coef: 1, Src: z, View: &model.View{Groups: []model.Group{Axis(0, 0), place, Axis(2, 1)}}})
		if c == count-1 {
			break
		}
		first := b.Mapped(name+", chosen", b.notFirst(z, before), b.ZeroTable(directBits), 0, 0, 1)
		left = left.Plus(b.Of(first).Times(-spread-1)).Within(t.Min-spread-1, t.Max) // each entry is lowered once at most
	}
	shape := []int{t.Shape[0], count, n}
	z := b.VirtualOf(name+", greatest", &Int{Shape: shape, Acc: model.Acc{Linear: all}, Max: 1})
	return b.OneHot(name, b.notFirst(z, before))
}

// notFirst takes rows of zeros and ones along the last axis. It is 0 at the first 1 of a row and positive at all other entries: with n
// entries of a row, n·(1 − z) plus the number of ones before the entry. before[i, j] is 1 where i is before j.
func (b *Builder) notFirst(z, before model.TensorID) *Int {
	shape := b.Circuit.Tensors[z].Shape
	last, n := len(shape)-1, int64(shape[len(shape)-1])
	labels := model.Axes(len(shape))
	labels[last]++
	e := b.Product(shape, z, labels, before, []int{last + 1, last}, int(n))
	return e.Plus(b.Of(z).Times(-n)).PlusConst(n).Within(0, 2*n)
}

// slotsOfPairs is Slots for scores whose differences are too many for a table. It compares all pairs of experts: an expert's place is
// the number of experts that come before it, and slot c has the expert of place c.
func (b *Builder) slotsOfPairs(name string, id model.TensorID, count int) model.TensorID {
	t := b.Circuit.Tensors[id]
	rows, n := t.Shape[0], t.Shape[1]
	pairs := []int{rows, n, n}
	// wins[row, i, j] is 1 if expert j comes before i: if the score at j less that at i, and less 1 for i ≤ j, is not negative.
	tie := b.Formula("not before", []int{n, n}, t.Frac, &model.Formula{Kind: model.AtMost}, 0, 1)
	along := func(id model.TensorID, axes ...int) *Int { return b.View(id, LabelView(axes, pairs), pairs) }
	wins := b.NotNegative(name+", before", along(id, 0, 2).Minus(along(id, 0, 1)).Minus(along(tie, 1, 2)))
	sum, _ := SumView(pairs, []int{2}, false)
	place := b.Viewed(name+", place", wins, sum, t.Shape)
	numbers := make([]float64, count)
	for c := range numbers {
		numbers[c] = float64(c)
	}
	shape := []int{rows, count, n}
	slots := b.Constant("slots", []int{count}, numbers, 0)
	return b.OneHot(name, b.View(place, LabelView([]int{0, 2}, shape), shape).Minus(b.View(slots, LabelView([]int{1}, shape), shape)))
}

// OneHot is 1 where e = 0 and 0 elsewhere. e must be 0 exactly once in each row along the last axis. A StepZero
// constrains the entries of a row to add up to 1, so the verifier knows as well that one is 1 and all others are 0.
func (b *Builder) OneHot(name string, e *Int) model.TensorID {
	if TableBits(e.Min, e.Max) > directBits {
		refuse.With("places up to %d are too many", e.Abs())
	}
	out := b.Mapped(name, e, b.ZeroTable(directBits), 0, 0, 1)
	last := len(e.Shape) - 1
	sum, _ := SumView(e.Shape, []int{last}, false)
	all := model.Acc{Const: -1, Linear: []model.Linear{{Coef: 1, Src: out, View: sum}}}
	b.addStep(b.step(model.StepZero, e.Shape[:last:last], all))
	b.RowSums[out], b.RowNorms[out] = 1, 1
	return out
}

// ProductTensor is x·y as a virtual tensor, entry by entry of a shape that has the axes of both (model.Graph.IsProduct). x
// has whole numbers, so the result has the scale of y.
func (b *Builder) ProductTensor(name string, shape []int, x model.TensorID, lx []int, y model.TensorID, ly []int) model.TensorID {
	all := within(&b.Circuit.Tensors[x]).Mul(within(&b.Circuit.Tensors[y]))
	return b.Add(model.Tensor{Name: name, Shape: shape, Kind: model.Virtual, Frac: b.Circuit.Tensors[y].Frac, Min: all.Min, Max: all.Max,
		Product: &model.Product{Coef: 1, A: x, B: y, LabelsA: lx, LabelsB: ly}})
}

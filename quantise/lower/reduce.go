package lower

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

func init() {
	register(lowerReduce, func(op graph.Reduce) Traits {
		return Traits{Means: op.Func == graph.Mean, jumps: op.Func == graph.MaxOf}
	})
	register(lowerAveragePool, always[graph.AveragePool](Traits{}))
	register(lowerMaxPool, always[graph.MaxPool](Traits{}))
}

// lowerReduce lowers ReduceSum as a summing view, ReduceMean as that view times one over the number of entries (scale), and
// ReduceMax by comparisons (greatest). A mean along an axis of free length is a division (openMean).
func lowerReduce(l *lowering, op graph.Reduce, v *value, in []*value) {
	x := in[0]
	if op.Func > graph.MaxOf {
		refuse.With("operator not supported")
	} else if op.Func == graph.MaxOf {
		l.greatest(v, x, op.Axes)
		return
	}
	w, count := fixed.SumView(x.shape, op.Axes, op.Keep)
	open := slices.DeleteFunc(slices.Clone(op.Axes), func(i int) bool { return !l.open(x.name, i) })
	switch {
	case len(open) == 0:
		l.sum(v, x, w, count, op.Func == graph.Mean)
	case op.Func == graph.Sum:
		_, v.acc = l.openSum(x, w, v.shape, l.most(count), math.Min(float64(l.Plan.Limit()), model.Bound/2))
	case len(open) > 1:
		refuse.With("a mean along several axes of free length: take it along one after the other")
	default:
		l.openMean(v, x, w, open[0], l.most(count))
	}
}

// lowerAveragePool lowers AveragePool: the sum of each window, divided by the
// number of kernel positions.
func lowerAveragePool(l *lowering, op graph.AveragePool, v *value, in []*value) {
	w := model.SameIndexes(2)
	count := 1
	for i, win := range windows(op.Window) {
		w.Groups = append(w.Groups, win.Summed(2+i, 2+i))
		count *= win.Taps
	}
	l.sum(v, in[0], w, count, true)
}

// summable returns x's tensor, rounded so that the magnitude of a sum of count entries is at most room. Whole numbers are not
// rounded but may be clamped (fitIntegers).
func (l *lowering) summable(x *value, count int, room float64, whole bool) model.TensorID {
	if whole {
		return l.fitIntegers([]*value{x}, func(s []float64) float64 { return s[0] * float64(count) })[0]
	}
	id := l.tensor(x)
	for float64(l.Magnitude(id))*float64(count) > room {
		bits := model.Log2Ceil(int(l.Magnitude(id))) - 1
		refuse.If(bits < 4, "a sum of up to %d values does not fit in 30 bits with at least 4 bits each", count)
		id = l.narrowed(x, bits)
	}
	return id
}

// sum lowers v as the view w of x, which sums count entries for each of v's; for a mean it divides the sums by
// count.
func (l *lowering) sum(v, x *value, w *model.View, count int, mean bool) {
	id := l.summable(x, count, float64(l.Plan.Limit()), l.integers(v.name))
	e := l.View(id, w, v.shape)
	all := l.Term(&e.Acc.Linear[0], v.shape)
	e = e.Within(all.Min, all.Max)
	if mean {
		// s stands for the sum, which is rounded to a tensor of its own if there is no room to scale it.
		s := &value{name: v.name, rng: Range{Min: v.rng.Min * float64(count), Max: v.rng.Max * float64(count)}}
		e = l.scaleTo(v, s, e, 1/float64(count))
	}
	v.acc = e
}

// openSum is the sum of x along axes of which at least one has a free length: the view w of its tensor id, of the given
// shape. count is the number of entries of a sum at the bound of the length, for which the sum has to be within room.
func (l *lowering) openSum(x *value, w *model.View, shape []int, count int, room float64) (id model.TensorID, e *fixed.Int) {
	id = l.summable(x, count, room, l.integers(x.name))
	t := l.Circuit.Tensors[id]
	return id, l.View(id, w, shape).Within(min(t.Min, t.Min*int64(count)), max(t.Max, t.Max*int64(count)))
}

// meanGuard is how many more fraction bits a mean along a free length has than
// its entries, if there is room.
const meanGuard = 4

// openMean lowers v, the mean of x along axes of which the given one has a free length n, with c entries for each of its
// indexes. The circuit of a key holds for every n, so that it cannot have the number c·n as a constant. The sum is divided by a
// computed tensor instead: c times the sum of n ones.
//
// The quotient is the rounded mean, which is in the range of the entries.
func (l *lowering) openMean(v, x *value, w *model.View, axis, count int) {
	id, e := l.openSum(x, w, v.shape, count, model.Bound>>3)
	t := l.Circuit.Tensors[id]
	fits := func(shift int) bool {
		return float64(e.Abs())*fixed.Pow2(shift+2) < model.Bound && fixed.TableBits(t.Min<<shift, t.Max<<shift) <= fixed.WideTable
	}
	shift := 0
	for shift < meanGuard && fits(shift+1) {
		shift++
	}
	n := x.shape[axis]
	each := int64(count / l.most(n)) // c, the number of entries for an index of the axis
	ones := l.Formula("ones", []int{n}, 0, &model.Formula{Kind: model.Progression, Offset: 1}, 1, 1)
	total, _ := fixed.SumView([]int{n}, []int{0}, false)
	den := l.VirtualOf("number of entries", l.View(ones, total, []int{}).Times(each).Within(1, int64(count)))
	lo := t.Min << shift
	bits := max(model.Log2Ceil(int(t.Max<<shift-lo)+1), 1)
	refuse.If(bits > model.MaxTableBits, "means of %d bits are too wide to look up", bits)
	hi := lo + 1<<bits - 1 // the look-up of the quotient forces [lo, hi], no more
	v.id = l.RoundedQuotient(v.name, e.Times(1<<shift), den, fixed.LabelView(nil, v.shape), t.Frac+shift, lo, hi)
	l.LookupDirect(l.Of(v.id).PlusConst(-lo), l.RangeTable(bits), model.None)
}

// mostSpread is the largest difference of two entries for which the maximum of both is found with a table of max(x, 0).
const mostSpread = 1 << 14

// greatest lowers ReduceMax over the given axes. They are moved behind the others and joined to one axis, along which a
// tournament finds the greatest element (Builder.Greatest). It is exact.
func (l *lowering) greatest(v, x *value, axes []int) {
	id := l.tensor(x)
	t := l.Circuit.Tensors[id]
	perm := slices.DeleteFunc(model.Axes(len(t.Shape)), func(i int) bool { return slices.Contains(axes, i) })
	kept := len(perm)
	perm = append(perm, axes...)
	var shape []int
	for _, i := range perm {
		shape = append(shape, t.Shape[i])
	}
	if !slices.IsSorted(perm) {
		id = l.Viewed(t.Name, id, fixed.Permuted(perm), shape)
	}
	rows := append(slices.Clone(shape[:kept]), model.Size(shape[kept:]))
	v.id = l.Greatest(v.name, l.Reshaped(t.Name, id, rows), t.Max-t.Min > mostSpread)
}

// lowerMaxPool lowers MaxPool: the maximum of windows along each spatial axis in turn,
// tap by tap (Builder.WindowMax).
func lowerMaxPool(l *lowering, op graph.MaxPool, v *value, in []*value) {
	id := l.within(in[0], l.narrowBitsOf(in[0]))
	for i, w := range windows(op.Window) {
		id = l.WindowMax(v.name, id, 2+i, w, v.shape[2+i])
	}
	v.id = id
}

// within returns x's tensor, rounded to so many bits if two of its entries may differ by 2^(bits+2) or more, so that
// a table can have all differences.
func (l *lowering) within(x *value, bits int) model.TensorID {
	id := l.tensor(x)
	if l.Circuit.Tensors[id].Max-l.Circuit.Tensors[id].Min >= 1<<(bits+2) {
		return l.narrowed(x, bits)
	}
	return id
}

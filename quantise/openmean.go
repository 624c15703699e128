package quantise

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// openSum is the sum of a value along axes of which the given one has a free length:
// every summed entry of the view w.
func (l *lowering) openSum(x *value, w *model.View, shape []int, count int, room float64) (id model.TensorID, e *expr) {
	id = l.tensor(x)
	for float64(l.magnitude(id))*float64(count) > room {
		bits := model.Log2Ceil(int(l.magnitude(id))) - 1
		if bits < 4 {
			refuse("a sum of up to %d values does not fit in 30 bits with at least 4 bits each", count)
		}
		id = l.narrowed(x, bits)
	}
	t := l.g.Tensors[id]
	e = l.tensorExpr(id, w, shape)
	e.min, e.max = min(t.Min, t.Min*int64(count)), max(t.Max, t.Max*int64(count))
	return id, e
}

// meanGuard is the number of bits that a mean along a free length has beyond those of
// its entries, if there is room.
const meanGuard = 4

// openMean lowers v, the mean of x along axes of which the given one has a free length.
// The number of entries c·n is not the key's to say, so that the sum is divided by it as
// by a computed value: it is c times the sum of as many ones as the text has tokens.
//
// The quotient is the rounded mean, which has the range of the entries.
func (l *lowering) openMean(v, x *value, w *model.View, axis, count int) {
	id, e := l.openSum(x, w, v.shape, count, model.Bound>>3)
	t := l.g.Tensors[id]
	shift := 0
	for shift < meanGuard && float64(e.abs())*pow2(shift+3) < model.Bound && tableBits(t.Min<<(shift+1), t.Max<<(shift+1)) <= wideTable {
		shift++
	}
	n := x.shape[axis]
	each := int64(count / l.most(n)) // of an index of the axis
	ones := l.formula("ones", []int{n}, 0, &model.Formula{Kind: model.Progression, Offset: 1}, 1, 1)
	den := l.add(model.Tensor{Name: "number of entries", Shape: []int{}, Kind: model.Virtual, Min: 1, Max: int64(count), Def: []model.Linear{{
		Coef: each, Src: ones, View: &model.View{Groups: []model.Group{{In: []int{0}, Sum: []model.SumIndex{{Dim: n, Stride: 1}}}}},
	}}})
	by := func(c int64) model.Linear { return model.Linear{Coef: c, Src: den, View: labelView(nil, v.shape)} }
	num := e.times(2 << shift).plus(&expr{acc: model.Acc{Linear: []model.Linear{by(1)}}, min: 1, max: int64(count)})
	double := l.add(model.Tensor{Name: "divisor", Shape: v.shape, Kind: model.Virtual, Min: 2, Max: 2 * int64(count), Def: []model.Linear{by(2)}})

	lo := t.Min << shift
	bits := max(model.Log2Ceil(int(t.Max<<shift-lo)+1), 1)
	if bits > model.MaxTableBits {
		refuse("means of %d bits are too wide to look up", bits)
	}
	hi := lo + 1<<bits - 1 // all that the look-up of the quotient says
	q := l.witness(v.name, v.shape, t.Frac+shift, lo, hi)
	l.division(num.acc, double, q, 2*int64(count)-1)
	l.lookup(&expr{shape: v.shape, acc: model.Acc{Const: -lo, Linear: []model.Linear{{Coef: 1, Src: q}}}, max: hi - lo}, 0, l.rangeTable(bits), model.None)
	v.id, v.shaped = q, q
}

// openAxes returns the axes of a value, among those given, that have a free length.
func (l *lowering) openAxes(name string, axes []int) []int {
	return slices.DeleteFunc(slices.Clone(axes), func(i int) bool { return !l.open(name, i) })
}

// lowerOpenReduce lowers a sum or a mean along axes of which some, the given ones, have
// a free length.
func (l *lowering) lowerOpenReduce(v, x *value, w *model.View, op graph.Reduce, axes []int, count int) {
	count = l.most(count)
	if op.Func == graph.Mean {
		if len(axes) > 1 {
			refuse("a mean along several axes of free length: take it along one after the other")
		}
		l.openMean(v, x, w, axes[0], count)
		return
	}
	_, v.pending = l.openSum(x, w, v.shape, count, math.Min(float64(l.plan.limit()), model.Bound/2))
}

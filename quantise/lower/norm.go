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
	register(lowerNorm, always[graph.Norm](Traits{Means: true, Norm: true}))
	register(lowerLogPower, always[graph.LogPower](Traits{Means: true, Powers: true}))
	register(lowerLogBands, always[graph.LogBands](Traits{Means: true, Powers: true}))
}

// lowerNorm lowers a norm so that a row's size does not matter, from a unit to all
// that its tensor may hold.
//
// The sum of squares N of a row is exact, a wide integer (digits), and at least 1.
// Its leading bits are looked up in a table of inverse roots, which makes a factor Q;
// where they are says how to shift it: the result is Σ C_i·limb i of x, C_i being
// √count·2^frac·2^(bits·i)/√N, rounded. So the limbs of small rows have large factors
// and the low limbs of large ones small factors, down to 0; and the sum, to be
// rounded once, is on one scale for all rows, and bounded by the root of the number
// of elements, or less where the epsilon is large, whatever x is.
func lowerNorm(l *lowering, op graph.Norm, v *value, in []*value) {
	x := in[0]
	count := op.Count(v.shape)
	refuse.If(count > fixed.MaxNorm, "rows of %d elements are over %d", count, fixed.MaxNorm)
	r := fixed.RowsOf(v.shape, op.Axes)
	id, times := l.narrowEnough(x, op.Centred), 1
	if op.Centred {
		l.Begin(fixed.Block{Kind: fixed.CentredBlock, Of: id, Mask: model.None, Axes: op.Axes})
		id, times = l.Centred(r, id, count)
	}
	l.Begin(fixed.Block{Kind: fixed.NormBlock, Of: id, Mask: model.None, Axes: op.Axes, Sum: op.Sum, Epsilon: op.Epsilon, Times: times})
	v.acc = l.Normalised(r, id, op.Sum, op.Epsilon, times)
	if !slices.Equal(op.Axes, []int{len(v.shape) - 1}) {
		v.acc.Norm = 0 // rows are not along the last axis
	}
}

// narrowEnough returns the value's tensor for a norm. It cuts its operand into limbs,
// which look-ups can do of values below 2^29; less its mean, one may be twice as large.
func (l *lowering) narrowEnough(x *value, centred bool) model.TensorID {
	id, most := l.tensor(x), 28
	if centred {
		most--
	}
	return l.coarser(x, id, model.Log2Ceil(int(l.Magnitude(id)))-most)
}

// lowerLogPower lowers the logarithm of the power of rows, of any size: the sum of the
// squares and the epsilon, N, is a wide integer, of whose leading bits a table gives the
// logarithm. So it is right to 2^−12, of the smallest power as of the largest.
func lowerLogPower(l *lowering, op graph.LogPower, v *value, in []*value) {
	x := in[0]
	axes := []int{len(x.shape) - 1}
	r := fixed.RowsOf(x.shape, axes)
	refuse.If(r.Count > fixed.MaxNorm, "rows of %d elements are over %d", r.Count, fixed.MaxNorm)
	id := l.narrowEnough(x, false)
	l.Begin(fixed.Block{Kind: fixed.LogPowerBlock, Of: id, Mask: model.None, Axes: axes, Epsilon: op.Epsilon})
	e := l.Of(l.LogPower(r, id, op.Epsilon))
	if !v.output {
		e = l.roundTerm(v, e) // it is not right to more bits than one table has
	}
	v.acc = e
}

// bandParts are the bits that a second part of the weights of bands has at most.
const bandParts = 8

// lowerLogBands lowers the logarithm of sums of powers with weights, of any size. The power of each
// bin is exact, in digits; the weights multiply each digit, and the sums of that are one wide
// integer, of whose leading bits a table gives the logarithm. Weights have a second part, so
// that they have some twenty bits.
func lowerLogBands(l *lowering, op graph.LogBands, v *value, in []*value) {
	x := in[0]
	r := fixed.RowsOf(x.shape, []int{len(x.shape) - 1})
	refuse.If(r.Count > graph.MaxComponents, "the squares of %d numbers are over %d", r.Count, graph.MaxComponents)
	id := l.tensor(x)
	id = l.coarser(x, id, l.PowerExcess(id, r.Count))
	digits := l.PowerDigits(v.name+", power", r, id)
	name := v.node.Inputs[1]
	t := l.fg.Consts[name]
	rank := len(v.shape)
	labels := model.Axes(len(v.shape)) // of a digit
	labels[rank-1] = rank
	kept, shape := fixed.KeptLabels(t.Shape, []int{rank, rank - 1}, v.shape)
	w := weighting{
		name: name, t: l.constant(t), shape: shape, labels: kept, channels: t.Shape[1], inner: 1, count: t.Shape[0], out: v.shape,
		operand: func(id model.TensorID) (model.TensorID, []int) { return l.DropBroadcast(id, labels, v.shape) },
	}
	terms, frac := l.digitTerms(&w, digits)
	unit := 2*l.Circuit.Tensors[id].Frac + frac
	// An epsilon keeps its leading bits.
	for op.Epsilon > 0 && op.Epsilon*fixed.Pow2(unit) < 1<<12 {
		unit++
		for i := range terms {
			terms[i].Exp++
		}
	}
	e := l.LogOfSum(v.name, v.shape, terms, op.Epsilon, unit, math.Max(op.Least, op.Epsilon))
	if !v.output {
		e = l.roundTerm(v, e) // it is not right to more bits than one table has
	}
	v.acc = e
}

// digitTerms are the products of digits with weights, which have the scale frac: those with the weights
// as far as one accumulator holds the sums, and those with what rounding took from them.
func (l *lowering) digitTerms(w *weighting, digits []model.TensorID) (terms []fixed.WideTerm, frac int) {
	stats := l.statsOf(*w)
	bounds := weights.OperandBounds{Count: w.count}
	for _, id := range digits {
		bounds.Hi = math.Max(bounds.Hi, float64(l.Circuit.Tensors[id].Max))
	}
	if stats.Most > 0 {
		frac = l.opts.WeightBits - 2 - fixed.FloorLog2(stats.Most)
		for l.scaledBy(stats, frac).Reach(bounds).Most() >= model.Bound/2 {
			frac--
		}
		if frac < 2-fixed.FloorLog2(stats.Most) {
			refuse.With("a sum of %d products does not fit in 30 bits with at least 2 bits a weight", w.count)
		}
	}
	scaled := l.scaledBy(stats, frac)
	reach := scaled.Reach(bounds)
	if all := scaled.ReachOfAll(bounds); all.Most() < model.Bound/2 {
		reach = all
	}
	add := func(wid model.TensorID, reach weights.Reach, up int) {
		for i, id := range digits {
			terms = append(terms, fixed.WideTerm{E: w.product(l, id, wid, reach), Exp: fixed.DigitBits*i + up})
		}
	}
	most := float64(w.count) * bounds.Hi
	fine := restBits(bandParts, most)
	if add(w.fixed(l, frac), reach, fine); fine > 0 {
		rest, each := l.restOf(w, frac, fine)
		add(rest, weights.Around(most*float64(each)), 0)
	}
	return terms, frac + fine
}

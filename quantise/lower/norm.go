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

// lowerNorm lowers a norm so that it is as precise for small rows as for large ones, from rows with
// entries of one unit to the largest that the operand's tensor holds.
//
// The sum of squares N of a row is an exact wide integer (digits), at least 1.
// Its leading bits are looked up in a table of inverse roots, which gives a factor Q. The position
// of the leading bits says how to shift Q. The result is Σ C_i·limb i of x, with C_i =
// √count·2^frac·2^(bits·i)/√N, rounded. So the limbs of small rows have large factors,
// and the low limbs of large rows have small factors, down to 0. The sum is rounded
// once, is on one scale for all rows, and whatever x is, it is at most the root of the number
// of elements, or less if the epsilon is large.
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

// narrowEnough returns x's tensor for a norm, rounded to magnitudes of at most 2^28. A norm cuts its operand into limbs by
// look-ups, which need values below 2^29. If the norm is centred, the limit is 2^27: an entry less the mean may be twice
// as large as the entry.
func (l *lowering) narrowEnough(x *value, centred bool) model.TensorID {
	id, most := l.tensor(x), 28
	if centred {
		most--
	}
	return l.coarser(x, id, model.Log2Ceil(int(l.Magnitude(id)))-most)
}

// lowerLogPower lowers log(Σ x² + epsilon) along the last axis. The sum is a wide integer, and a table gives the
// logarithm of its leading bits. So the result is right to 2^−12, for the smallest sums as for the
// largest.
func lowerLogPower(l *lowering, op graph.LogPower, v *value, in []*value) {
	x := in[0]
	axes := []int{len(x.shape) - 1}
	r := fixed.RowsOf(x.shape, axes)
	refuse.If(r.Count > fixed.MaxNorm, "rows of %d elements are over %d", r.Count, fixed.MaxNorm)
	id := l.narrowEnough(x, false)
	l.Begin(fixed.Block{Kind: fixed.LogPowerBlock, Of: id, Mask: model.None, Axes: axes, Epsilon: op.Epsilon})
	e := l.Of(l.LogPower(r, id, op.Epsilon))
	if !v.output {
		e = l.roundTerm(v, e) // the logarithm is not precise to more bits than one table has
	}
	v.acc = e
}

// bandParts is the most bits that the second part of the weights of bands has.
const bandParts = 8

// lowerLogBands lowers the logarithm of weighted sums of powers (graph.LogBands). The power of each
// bin is exact, in digits. The weights multiply each digit, and the sums for all digits are one wide
// integer. A table gives the logarithm of its leading bits, so that the result is as precise for small powers as for large
// ones. Weights have a second part, so that they have some twenty bits.
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
	labels := model.Axes(len(v.shape)) // of a digit's axes: those of v, but for the last, which is summed
	labels[rank-1] = rank
	kept, shape := fixed.KeptLabels(t.Shape, []int{rank, rank - 1}, v.shape)
	w := weighting{
		name: name, t: l.constant(t), shape: shape, labels: kept, channels: t.Shape[1], inner: 1, count: t.Shape[0], out: v.shape,
		operand: func(id model.TensorID) (model.TensorID, []int) { return l.DropBroadcast(id, labels, v.shape) },
	}
	terms, frac := l.digitTerms(&w, digits)
	unit := 2*l.Circuit.Tensors[id].Frac + frac
	// A finer unit, so that the epsilon is at least 2^12 units and keeps its leading bits.
	for op.Epsilon > 0 && op.Epsilon*fixed.Pow2(unit) < 1<<12 {
		unit++
		for i := range terms {
			terms[i].Exp++
		}
	}
	e := l.LogOfSum(v.name, v.shape, terms, op.Epsilon, unit, math.Max(op.Least, op.Epsilon))
	if !v.output {
		e = l.roundTerm(v, e) // the logarithm is not precise to more bits than one table has
	}
	v.acc = e
}

// digitTerms are the terms of Σ_i 2^(DigitBits·i)·Σ w·digit i, on the scale frac: for each digit the product with the
// weights, which are as fine as one accumulator has room for, and the product with their second part (restOf).
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

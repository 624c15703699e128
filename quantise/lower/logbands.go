package lower

import (
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
	"github.com/prove-model/prove-model/quantise/weights"
)

func init() {
	register(lowerLogBands, always[graph.LogBands](Traits{Means: true}))
}

// bandParts are the bits that a second part of the weights of bands has at most.
const bandParts = 8

// lowerLogBands lowers the logarithm of sums of powers with weights, of any size. The power of each
// bin is exact, in digits; the weights multiply each digit, and the sums of that are one wide
// integer, of whose leading bits a table gives the logarithm. Weights have a second part, so
// that they have some twenty bits.
func lowerLogBands(l *lowering, n *graph.Node, op graph.LogBands, v *value) {
	x := l.values[n.Inputs[0]]
	r := fixed.RowsOf(x.shape, []int{len(x.shape) - 1})
	if r.Count > graph.MaxComponents {
		refuse.With("the squares of %d numbers are over %d", r.Count, graph.MaxComponents)
	}
	id := l.tensor(x)
	id = l.coarser(x, id, l.PowerExcess(id, r.Count))
	digits := l.PowerDigits(v.name+", power", r, id)
	name := n.Inputs[1]
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
		e = l.View(l.roundTerm(v, e), nil, v.shape) // it is not right to more bits than one table has
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

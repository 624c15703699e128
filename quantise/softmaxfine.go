package quantise

import (
	"fmt"
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/elementary"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Scores too many for a table of all their exponentials are taken in limbs,
// x = 2^c·high + low: with the unit 2^−F of x and u = 2^(c−F) of the high limb,
//
//	exp(x + u/4) = exp((high + 3/4)·u)·(1 + grown(low)/2^F),   grown(low) = 2^F·(exp(low/2^F − u/2) − 1),
//
// a look-up for each factor, and their product, which is rounded. Of numbers so small that
// nothing is left of what the low limb makes of them, this is right in the mean. The
// maximum is that of the high limbs: what is summed is at least 1 with the quarter of a
// unit, which the logarithm of the sum has as well, so that it falls out.
const (
	leastFineSpread = 18 // bits of what lies between the least score and the greatest; tables do for fewer
	fineRows        = 15 // bits of the high limbs' spread
	// The high limbs' unit: the logarithm is wrong by less than a quarter of it.
	leastFineUnit, mostFineUnit = 7, 10
	fineShareBits               = 20
)

// fineCut returns the size of the low limb of scores that are taken in limbs.
func (l *builder) fineCut(m scores) (c int, ok bool) {
	t := l.g.Tensors[m.id]
	if m.mask != model.None || m.open || t.Max-t.Min < 1<<leastFineSpread || t.Frac > logBits {
		return 0, false
	}
	spread := model.Log2Ceil(int(t.Max-t.Min) + 1)
	c = max(spread-fineRows, t.Frac-mostFineUnit)
	c = min(c, t.Frac-leastFineUnit)
	return c, c > 0 && c <= mostLow && spread-c <= fineRows+1
}

// inFineShares reports whether a Softmax is taken so, and the size of the low limb: where
// scores and result have the finest of formats, and there is no mask.
func (l *lowering) inFineShares(n *graph.Node, v *value) (c int, ok bool) {
	x := l.values[n.Inputs[0]]
	if len(n.Inputs) > 1 || l.length != nil || !l.finestOf(v) || !l.finestOf(x) {
		return 0, false
	}
	return l.fineCut(scores{id: l.tensor(x), mask: model.None})
}

// fineShares makes the shares of a Softmax of scores in limbs, 1 being 2^bits, and what is
// summed 2^summed.
func (l *builder) fineShares(m scores, c int, name string, summed, bits int) model.TensorID {
	t := l.g.Tensors[m.id]
	kmin, kmax := t.Min>>c, t.Max>>c
	high := l.witness("scores, high", t.Shape, t.Frac-c, kmin, kmax)
	low := l.cut(l.tensorExpr(m.id, nil, t.Shape), c, l.piecewiseOf(keep, -model.Bound, model.Bound, tableBits(kmin, kmax)), high)
	keyFrac := t.Frac - c

	m.id = high
	top, spread := l.rowMax(m), kmax-kmin
	m, top, spread = l.nearMaximum(m, top, spread, -keyFrac)
	first := -int64(1) << model.Log2Ceil(int(spread+mostLog(m.width, keyFrac)+5))
	// times adds the look-up of the exponential of e, of key and low limb, 1 being 2^bits.
	times := func(name string, e *expr, shift, bits int, low *expr) model.TensorID {
		table, greatest := l.fineExpTable(keyFrac, first, bits)
		exp := l.witness(name+", high", t.Shape, bits, 0, greatest)
		if shift == 0 {
			l.direct(e, table, exp)
		} else {
			low = l.cut(e, shift, table, exp)
		}
		product := l.product(t.Shape, exp, allLabels(t.Shape), l.grown(low, c, t.Frac), allLabels(t.Shape), 1)
		product.frac = bits + t.Frac
		lo, hi := keys(product, bits)
		rest := l.witness(name+", low", t.Shape, bits, lo, hi)
		l.lookup(product, bits, l.piecewiseOf(keep, lo, hi, tableBits(lo, hi)), rest)
		// Not negative, as what the low limb takes is a small part of the other.
		return l.add(model.Tensor{
			Name: name, Shape: t.Shape, Kind: model.Virtual, Frac: bits, Max: greatest + hi,
			Def: []model.Linear{{Coef: 1, Src: exp}, {Coef: 1, Src: rest}},
		})
	}
	exp := times("exponential", m.less(l, top, 0, keyFrac, first+1), 0, summed, low)

	logMax := mostLog(m.width, t.Frac) + int64(2)<<c // what each has beyond 1
	log := l.logOfSum(exp, m.width, t.Frac, logMax)
	tt := l.g.Tensors[top]
	under := l.add(model.Tensor{
		Name: "maximum and logarithm", Shape: tt.Shape, Kind: model.Virtual, Frac: t.Frac, Min: tt.Min << c, Max: tt.Max<<c + logMax,
		Def: append([]model.Linear{{Coef: 1 << c, Src: top}}, log...),
	})
	key := m.less(l, under, c, t.Frac, -spread<<c-logMax)
	key = key.plus(low)
	key.max = 1<<c - 1
	id := times(name, key, c, bits, nil)

	// What is wrong in proportion: the logarithm by 2^−12 and a unit, what low limbs make by
	// half a unit twice, and in what was summed each share by one unit and a bit; and each
	// share itself by as much.
	each := float64(float64(m.width) * 1.0625)
	more := elementary.Expm1(pow2(-10) + float64(4*pow2(-t.Frac)) + float64(each*pow2(-summed)))
	l.rowSums[id] = 1<<bits + int64(math.Ceil(float64(pow2(bits)*more)+each)) + 1
	return id
}

// fineExpTable is the table of exp((key + 3/4)·2^−frac), 1 being 2^bits, for keys in
// [first, 0], with its greatest value.
func (l *builder) fineExpTable(frac int, first int64, bits int) (model.TableID, int64) {
	values := l.column(fmt.Sprint("fine exp ", frac, first, bits), func() []int32 {
		values := make([]int32, -first)
		for i := range values {
			values[i] = int32(math.Round(pow2(bits) * elementary.Exp((float64(first+1+int64(i))+0.75)*pow2(-frac))))
		}
		return values
	})
	return l.funcTable("exp", first+1, values), int64(values[len(values)-1])
}

// grown looks up 2^frac·(exp((low − 2^(bits−1))/2^frac) − 1) for e in [0, 2^bits), which
// it forces.
func (l *builder) grown(e *expr, bits, frac int) model.TensorID {
	values := l.column(fmt.Sprint("grown ", frac, bits), func() []int32 {
		values := make([]int32, 1<<bits)
		for i := range values {
			values[i] = int32(math.Round(pow2(frac) * elementary.Expm1(float64(i-len(values)/2)*pow2(-frac))))
		}
		return values
	})
	id := l.witness("grown", e.shape, frac, int64(slices.Min(values)), int64(slices.Max(values)))
	l.direct(e, l.funcTable("exp − 1", 0, values), id)
	return id
}

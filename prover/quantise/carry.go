package quantise

import (
	"math"

	"github.com/prove-model/prove-model/prover/model"
)

// A product with a wide tensor x = 2^k·high + low takes two accumulators with the
// same weights, A_high = Σ w·high and A_low = Σ w·low. The second one is rounded to
// a carry,
//
//	A_low + 2^(m−1) = 2^m·carry + rest,
//
// by a look-up of the same shape as that which will round the whole,
// A_high + 2^(m−k)·carry: it is the sum in units of 2^k of x's, and off by at most
// 2^(m−k−1) of them, a small part of what rounding drops.

// inLimbs reports whether x·w is to be taken in limbs of x, when one accumulator
// leaves the weights the given bits.
func (l *lowering) inLimbs(v, x *value, id model.TensorID, bits int) bool {
	want := l.opts.Formats[v.name].Weights
	if l.formatted(x) > 0 || l.wide(x) {
		// What made the value finer does not make its weights coarser.
		want = max(want, goodWeightBits)
	}
	return bits < want && l.magnitude(id) >= 1<<8
}

// wide reports whether a value has more than narrowBits.
func (l *lowering) wide(v *value) bool {
	_, stream := l.stream[v.name]
	return stream || l.formatted(v) > narrowBits
}

// weightedLimbs lowers v = x·weights + bias with x in limbs. It reports false if
// that would leave the weights no more bits than have been reached without.
func (l *lowering) weightedLimbs(v *value, id model.TensorID, w weighting, stats []channelStats, bits int) bool {
	most := 0.0
	for _, c := range stats {
		most = math.Max(most, c.max)
	}
	if most == 0 {
		return false
	}
	p, have := l.parts[id]
	if !have {
		p.bits = model.Log2Ceil(int(l.magnitude(id))+1) / 2
	}
	t := l.g.Tensors[id]
	highMin, highMax := float64(t.Min>>p.bits), float64(t.Max>>p.bits)
	unit := pow2(t.Frac - p.bits) // of high
	drop := max(l.plan.shift(), p.bits)
	reach := func(frac int) (high, low float64) {
		for _, c := range stats {
			high = math.Max(high, c.bound(frac, 0, operandBounds{lo: highMin, hi: highMax, count: w.count}))
			low = math.Max(low, c.bound(frac, 0, operandBounds{hi: pow2(p.bits) - 1, count: w.count}))
		}
		return high, low
	}
	extra := magnitudeOf(w.bias)
	fits := func(high, low float64, frac int) bool {
		total := high + float64(low*pow2(-p.bits)) + pow2(drop-p.bits) + float64(extra*unit*pow2(frac)) + 1
		return total <= float64(l.limitOf(v)) && low < model.Bound/2
	}
	frac := l.opts.WeightBits - 2 - floorLog2(most) // their largest size
	for ; ; frac-- {
		if high, low := reach(frac); fits(high, low, frac) {
			break
		}
	}
	if floorLog2(most*pow2(frac))+1 <= bits {
		return false
	}
	p = l.partsOf(id)
	high, low := reach(frac)
	none := make([]int, len(stats))
	h := math.Max(reachOfAll(stats, frac, none, operandBounds{lo: highMin, hi: highMax, count: w.count}))
	if low2 := math.Max(reachOfAll(stats, frac, none, operandBounds{hi: pow2(p.bits) - 1, count: w.count})); fits(h, low2, frac) {
		high, low = h, low2
	}
	size := int64(most*pow2(frac)) + 1
	wid := l.fixed(w.name, w.shape, frac, -size, size, w.t.source(), quantised(w.t, frac, make([]int, len(stats)), w.inner))
	sum := func(limb model.TensorID, bound float64) *expr {
		other, labels := w.operand(limb)
		e := &expr{shape: w.out, frac: l.g.Tensors[limb].Frac + frac, min: -int64(math.Ceil(bound)), max: int64(math.Ceil(bound))}
		e.acc.Products = []model.Product{{Coef: 1, A: other, B: wid, LabelsA: labels, LabelsB: w.labels}}
		return e
	}
	part := sum(p.low, low)
	carry := l.roundOn(v.name+", carry", part, part.frac-drop, formatBits, wholeLine)
	e := sum(p.high, high)
	e = e.plus(l.tensorExpr(carry, nil, w.out).times(1 << (drop - p.bits)))
	if len(w.bias) > 0 {
		e = e.plus(l.tensorExpr(l.constant(w.biasName, w.biasShape, w.bias, e.frac), w.biasView, w.out))
	}
	v.pending = e
	return true
}

package lower

import (
	"fmt"
	"math"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
	"github.com/prove-model/prove-model/quantise/weights"
)

// wantsLimbs reports whether x·w is to be taken in limbs of x, when one accumulator
// leaves the weights the given bits.
func (l *lowering) wantsLimbs(v, x *value, id model.TensorID, bits int) bool {
	want := l.opts.Formats[v.name].Weights
	if l.formatted(x) > 0 || l.wide(x) {
		// What made the value finer does not make its weights coarser.
		want = max(want, goodWeightBits)
	}
	return bits < want && l.Magnitude(id) >= 1<<8
}

// carryShift is m, the bits that rounding A_low to a carry drops, for a product on a scale of
// frac and low limbs of the given bits. It is such that the carry is off by at most an eighth of
// what rounding the whole drops, or by half a unit of the whole, or of the stream that the
// value is added to, if that is finer. More than MostShift is of no use.
func (l *lowering) carryShift(v *value, frac, bits int) int {
	out, ok := l.roundedFrac(v)
	switch drops := frac - bits - out; {
	case !ok:
		return bits
	case drops < 0 && l.streamOf(v):
		return max(bits+drops, bits/2)
	default:
		return max(bits, min(bits+drops-2, fixed.MostShift))
	}
}

// limbing is how weights meet the limbs of a value.
type limbing struct {
	l           *lowering
	v           *value
	stats       *weights.Channels
	bits        int                   // of the low limb
	highs, lows weights.OperandBounds // what is known of the limbs' entries
	extra, rest float64               // what is added, in units of the high limb, and by the weights' second part
	valueFrac   int
	frac, drop  int  // of the weights, and m of the carry
	short       bool // whether room for finer weights is missing
}

// limbingOf chooses the scale of weights that multiply the limbs of a tensor: the finest for which
// the high limb's accumulator has room, but no finer than is of use. A sum of very many products
// may not fit on any scale.
func (l *lowering) limbingOf(v *value, id model.TensorID, w weighting, stats *weights.Channels) *limbing {
	p, have := l.Splits[id]
	if !have {
		p.Bits = model.Log2Ceil(int(l.Magnitude(id))+1) / 2
	}
	t := l.Circuit.Tensors[id]
	highMin, highMax := float64(t.Min>>p.Bits), float64(t.Max>>p.Bits)
	x := &limbing{
		l: l, v: v, stats: stats, bits: p.Bits, valueFrac: t.Frac,
		highs: weights.OperandBounds{Lo: highMin, Hi: highMax, Count: w.count},
		lows:  weights.OperandBounds{Hi: fixed.Pow2(p.Bits) - 1, Count: w.count},
		extra: float64((w.bias.most() + l.upcoming(v)) * fixed.Pow2(t.Frac-p.Bits)),
	}
	want := l.opts.Formats[v.name].Weights
	if want > PartWeights {
		x.rest = float64(float64(w.count)*math.Max(-highMin, highMax)/2) + 1 // what the second part adds at most
	}
	x.frac = l.opts.WeightBits - 2 - fixed.FloorLog2(stats.Most) // their largest size
	if want > 0 && want <= PartWeights {
		// Or what gives half the channels their bits, if few are far larger.
		x.frac = max(x.frac, min(want-1-fixed.FloorLog2(stats.MedianOf()), 29-fixed.FloorLog2(stats.Most)))
	}
	least := -fixed.FloorLog2(stats.Most) - 2 // all weights are 0
	for x.drop = x.carryShift(); !x.fits(x.reach()) && x.frac >= least; x.drop = x.carryShift() {
		x.frac--
		x.short = true
	}
	for _, x.frac = range l.baseScales(w) {
		if x.drop = x.carryShift(); x.fits(x.reach()) {
			break
		}
	}
	return x
}

// carryShift is m for the weights' scale.
func (x *limbing) carryShift() int { return x.l.carryShift(x.v, x.valueFrac+x.frac, x.bits) }

// reach bounds the two accumulators.
func (x *limbing) reach() (high, low float64) {
	s := x.l.scaledBy(x.stats, x.frac)
	return s.Reach(x.highs).Most(), s.Reach(x.lows).Most()
}

// fits reports whether sums of the limbs up to these can be rounded.
func (x *limbing) fits(high, low float64) bool {
	total := high + float64(low*fixed.Pow2(-x.bits)) + x.rest + fixed.Pow2(max(x.drop-x.bits, 0)) + float64(x.extra*fixed.Pow2(x.frac)) + 1
	return total <= float64(x.l.limitOf(x.v)) && low < model.Bound/2
}

// medianBits are those of half the channels' largest weights.
func (x *limbing) medianBits() int { return fixed.FloorLog2(x.stats.MedianOf()*fixed.Pow2(x.frac)) + 1 }

// crowds reports whether a value in limbs leaves the weights that multiply it fewer than
// usualWeightBits in half the channels, because its static bound is far beyond its calibrated
// range, as that of a sum of many values is. Then a stream, or a value with a format of at most
// LimbedBits, is first rounded to LimbedBits and clamped to its calibrated range.
func (l *lowering) crowds(v, x *value, id model.TensorID, w weighting, stats *weights.Channels) bool {
	_, stream := l.stream[x.name]
	asked := l.formatted(x)
	if _, have := l.Splits[id]; have || !stream && (asked == 0 || asked > LimbedBits) || l.Magnitude(id) < 1<<mostLimbed || stats.Most == 0 {
		return false
	}
	limbs := l.limbingOf(v, id, w, stats)
	return limbs.short && limbs.medianBits() < usualWeightBits
}

// weightedLimbs lowers v = x·weights + bias with x in limbs. It reports false if
// that would leave the weights no more bits than have been reached without, or none.
func (l *lowering) weightedLimbs(v *value, id model.TensorID, w weighting, stats *weights.Channels, bits int) bool {
	if stats.Most == 0 {
		return false
	}
	x := l.limbingOf(v, id, w, stats)
	if !x.fits(x.reach()) {
		return false
	}
	frac, drop, want := x.frac, x.drop, l.opts.Formats[v.name].Weights
	if want > 0 && want <= PartWeights && x.medianBits() < goodWeightBits {
		l.underprecise = append(l.underprecise, v.name)
	}
	fine := 0 // bits of the weights' second part
	if want > PartWeights && w.part == nil {
		fine = restBits(max(min(want-x.medianBits(), finestParts), 0), float64(w.count)*math.Max(-x.highs.Lo, x.highs.Hi))
	}
	if fine == 0 && fixed.FloorLog2(stats.Most*fixed.Pow2(frac))+1 <= bits {
		return false
	}
	p := l.SplitOf(id)
	high, low := x.reach()
	scaled := l.scaledBy(stats, frac)
	if h, lo := scaled.ReachOfAll(x.highs).Most(), scaled.ReachOfAll(x.lows).Most(); x.fits(h, lo) {
		high, low = h, lo
	}
	wid := w.fixed(l, frac)
	part, e := w.product(l, p.Low, wid, weights.Around(low)), w.product(l, p.High, wid, weights.Around(high))
	carry := l.RoundCarry(v.name+", carry", part, drop)
	if up := p.Bits - drop; up > 0 {
		// Too coarse for its stream: both are terms of it.
		e = l.View(l.roundAt(v, e, e.Frac), nil, w.out)
		e = e.Finer(up).Plus(carry)
	} else {
		e = e.Plus(carry.Times(1 << -up))
	}
	if fine > 0 {
		rest := l.finePart(v, w, p, frac, fine)
		e = e.Plus(rest.Times(1 << (e.Frac - rest.Frac)))
	}
	v.acc = l.plusBias(e, w.bias)
	return true
}

// finestParts is the most bits that the second part of weights has.
const finestParts = 8

// finePart is Σ (w·2^frac − round(w·2^frac))·high, rounded: what rounding the weights took from
// their product with the high limbs. The differences are a fixed tensor, in units of 2^−fine.
// Their product with the low limbs is left out, as it is below one unit of the sum.
func (l *lowering) finePart(v *value, w weighting, p fixed.Split, frac, fine int) *fixed.Int {
	id, most := l.restOf(&w, frac, fine)
	e := w.product(l, p.High, id, weights.Around(float64(int64(w.count)*most*l.Magnitude(p.High))))
	return l.RoundCarry(v.name+", fine carry", e, fine)
}

// restOf is the fixed tensor of w·2^frac − round(w·2^frac), in units of 2^−fine, and how large its
// entries may be.
func (l *lowering) restOf(w *weighting, frac, fine int) (id model.TensorID, most int64) {
	most = int64(1) << (fine - 1)
	l.opts.Base.has(w.name, ", rest", w.t.Tensor, w.shape, frac+fine)
	id = l.Fixed(w.name+", rest", w.shape, frac+fine, -most, most, weights.Remainders(w.t, frac, fine))
	l.weights[id] = w.t
	l.Key(fmt.Sprint(w.name, " by ", w.t.By, w.shape, frac, " rest of ", fine), 0)
	return id, most
}

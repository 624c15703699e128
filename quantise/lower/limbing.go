package lower

import (
	"fmt"
	"math"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
	"github.com/prove-model/prove-model/quantise/weights"
)

// wantsLimbs reports whether x·w is to be taken in limbs of x, when one accumulator
// leaves the weights the bits that they have.
func (m *meeting) wantsLimbs() bool {
	want := m.opts.Formats[m.v.name].Weights
	if m.formatted(m.x) > 0 || m.wide(m.x) {
		// What made the value finer does not make its weights coarser.
		want = max(want, goodWeightBits)
	}
	return m.bits < want && m.Magnitude(m.id) >= 1<<8
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
	*meeting
	low         int                   // bits of the low limb
	highs, lows weights.OperandBounds // what is known of the limbs' entries
	extra, rest float64               // what is added, in units of the high limb, and by the weights' second part
	frac, drop  int                   // of the weights, and m of the carry
	short       bool                  // whether room for finer weights is missing
}

// limbs chooses the scale of weights that multiply the limbs of a tensor: the finest for which
// the high limb's accumulator has room, but no finer than is of use. A sum of very many products
// may not fit on any scale.
func (m *meeting) limbs() *limbing {
	p, have := m.Splits[m.id]
	if !have {
		p.Bits = model.Log2Ceil(int(m.Magnitude(m.id))+1) / 2
	}
	t, stats := m.Circuit.Tensors[m.id], m.stats
	highMin, highMax := float64(t.Min>>p.Bits), float64(t.Max>>p.Bits)
	x := &limbing{
		meeting: m, low: p.Bits,
		highs: weights.OperandBounds{Lo: highMin, Hi: highMax, Count: m.count},
		lows:  weights.OperandBounds{Hi: fixed.Pow2(p.Bits) - 1, Count: m.count},
		extra: float64((m.bias.most() + m.upcoming(m.v)) * fixed.Pow2(t.Frac-p.Bits)),
	}
	want := m.opts.Formats[m.v.name].Weights
	if want > PartWeights {
		x.rest = float64(float64(m.count)*math.Max(-highMin, highMax)/2) + 1 // what the second part adds at most
	}
	x.frac = m.opts.WeightBits - 2 - fixed.FloorLog2(stats.Most) // their largest size
	if want > 0 && want <= PartWeights {
		// Or what gives half the channels their bits, if few are far larger.
		x.frac = max(x.frac, min(want-1-fixed.FloorLog2(stats.Median), 29-fixed.FloorLog2(stats.Most)))
	}
	least := -fixed.FloorLog2(stats.Most) - 2 // all weights are 0
	for x.fitDrop(); !x.fits(x.reach()) && x.frac >= least; x.fitDrop() {
		x.frac--
		x.short = true
	}
	for _, x.frac = range m.baseScales() {
		if x.fitDrop(); x.fits(x.reach()) {
			break
		}
	}
	return x
}

// fitDrop sets m for the weights' scale.
func (x *limbing) fitDrop() { x.drop = x.carryShift(x.v, x.Circuit.Tensors[x.id].Frac+x.frac, x.low) }

// reach bounds the two accumulators.
func (x *limbing) reach() (high, low float64) {
	s := x.scaledBy(x.stats, x.frac)
	return s.Reach(x.highs).Most(), s.Reach(x.lows).Most()
}

// fits reports whether sums of the limbs up to these can be rounded.
func (x *limbing) fits(high, low float64) bool {
	total := high + float64(low*fixed.Pow2(-x.low)) + x.rest + fixed.Pow2(max(x.drop-x.low, 0)) + float64(x.extra*fixed.Pow2(x.frac)) + 1
	return total <= float64(x.limitOf(x.v)) && low < model.Bound/2
}

// medianBits are those of half the channels' largest weights.
func (x *limbing) medianBits() int { return fixed.FloorLog2(x.stats.Median*fixed.Pow2(x.frac)) + 1 }

// crowds reports whether a value in limbs leaves the weights that multiply it fewer than
// usualWeightBits in half the channels, because its static bound is far beyond its calibrated
// range, as that of a sum of many values is. Then a stream, or a value with a format of at most
// LimbedBits, is first rounded to LimbedBits and clamped to its calibrated range.
func (m *meeting) crowds() bool {
	_, stream := m.stream[m.x.name]
	asked := m.formatted(m.x)
	may := (stream || asked > 0 && asked <= LimbedBits) && m.Magnitude(m.id) >= 1<<mostLimbed
	if _, have := m.Splits[m.id]; have || !may || m.stats.Most == 0 {
		return false
	}
	limbs := m.limbs()
	return limbs.short && limbs.medianBits() < usualWeightBits
}

// weightedLimbs lowers v = x·weights + bias with x in limbs. It reports false if
// that would leave the weights no more bits than they have without, or none.
func (m *meeting) weightedLimbs() bool {
	if m.stats.Most == 0 {
		return false
	}
	x, v := m.limbs(), m.v
	if !x.fits(x.reach()) {
		return false
	}
	want := m.opts.Formats[v.name].Weights
	if want > 0 && want <= PartWeights && x.medianBits() < goodWeightBits {
		m.underprecise = append(m.underprecise, v.name)
	}
	fine := 0 // bits of the weights' second part
	if want > PartWeights && m.part == nil {
		fine = restBits(max(min(want-x.medianBits(), finestParts), 0), float64(m.count)*math.Max(-x.highs.Lo, x.highs.Hi))
	}
	if fine == 0 && fixed.FloorLog2(m.stats.Most*fixed.Pow2(x.frac))+1 <= m.bits {
		return false
	}
	p := m.SplitOf(m.id)
	high, low := x.reach()
	scaled := m.scaledBy(m.stats, x.frac)
	if h, lo := scaled.ReachOfAll(x.highs).Most(), scaled.ReachOfAll(x.lows).Most(); x.fits(h, lo) {
		high, low = h, lo
	}
	wid := m.fixed(m.lowering, x.frac)
	part, e := m.product(m.lowering, p.Low, wid, weights.Around(low)), m.product(m.lowering, p.High, wid, weights.Around(high))
	carry := m.RoundCarry(v.name+", carry", part, x.drop)
	if up := p.Bits - x.drop; up > 0 {
		// Too coarse for its stream: both are terms of it.
		e = m.View(m.roundAt(v, e, e.Frac), nil, m.out)
		e = e.Finer(up).Plus(carry)
	} else {
		e = e.Plus(carry.Times(1 << -up))
	}
	if fine > 0 {
		rest := x.finePart(p, fine)
		e = e.Plus(rest.Times(1 << (e.Frac - rest.Frac)))
	}
	v.acc = m.plusBias(e, m.bias)
	return true
}

// finestParts is the most bits that the second part of weights has.
const finestParts = 8

// finePart is Σ (w·2^frac − round(w·2^frac))·high, rounded: what rounding the weights took from
// their product with the high limbs. The differences are a fixed tensor, in units of 2^−fine.
// Their product with the low limbs is left out, as it is below one unit of the sum.
func (x *limbing) finePart(p fixed.Split, fine int) *fixed.Int {
	id, most := x.restOf(&x.weighting, x.frac, fine)
	e := x.product(x.lowering, p.High, id, weights.Around(float64(int64(x.count)*most*x.Magnitude(p.High))))
	return x.RoundCarry(x.v.name+", fine carry", e, fine)
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

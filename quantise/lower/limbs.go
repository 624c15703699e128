package lower

import (
	"fmt"
	"math"

	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
	"github.com/prove-model/prove-model/quantise/weights"
)

// A product Σ w·x with a wide tensor x = 2^k·high + low takes two accumulators with the same
// w, which are weights or a computed factor: A_high = Σ w·high and A_low = Σ w·low. A look-up rounds
// A_low to a carry,
//
//	A_low + 2^(m−1) = 2^m·carry + rest,
//
// and the product is taken to be A_high + 2^(m−k)·carry, in units 2^k times as large as those of Σ w·x. It is off by at most
// 2^(m−k−1) such units, a small part of what rounding the product drops (carryShift).

// productOf is the sum v of products of two computed values. sum makes the accumulator for two tensors. If it does not fit,
// the product is taken in limbs where that is of use (productLimbs); otherwise the factors are rounded until it fits.
func (l *lowering) productOf(v, a, b *value, c contraction, sum func(a, b model.TensorID) *fixed.Int) *fixed.Int {
	if e := l.productLimbs(v, a, b, c, sum); e != nil {
		return e
	}
	return sum(l.fitProduct(v, a, b, c))
}

// productLimbs is productOf in limbs of b, or of both factors. That is for a v whose format asks for it: with a number for Weights,
// or, for a product entry by entry, with more than NarrowBits. The result is nil for other v, if one accumulator holds the product,
// or if limbs are of no use.
func (l *lowering) productLimbs(v, a, b *value, c contraction, sum func(a, b model.TensorID) *fixed.Int) *fixed.Int {
	one := c.count == 1 && l.formatted(v) > fixed.NarrowBits
	if l.opts.Formats[v.name].Weights == 0 && !one {
		return nil
	}
	ida, idb, limit := l.tightened(a), l.tightened(b), l.limitOf(v)
	if l.reach(ida, idb, c) <= float64(limit) || l.Magnitude(idb) < 1<<8 {
		return nil
	}
	bits := (model.Log2Ceil(int(l.Magnitude(idb))+1) + 1) / 2 // of b's larger limb
	if room := limit / int64(2*c.count); l.rowSum(ida, c.count, c.lastA)<<bits > limit/2 {
		var e *fixed.Int
		both := l.wide(a) && l.wide(b)
		if both && one && l.finestOf(v) {
			e = l.entryLimbs(v, ida, idb, sum)
		}
		if both && e == nil && l.opts.Formats[v.name].Weights > 0 {
			e = l.bothLimbs(v, ida, idb, c, sum)
		}
		if e != nil || !one {
			return e
		}
		ida = l.narrowed(a, fixed.FloorLog2(float64(room))-bits)
	}
	return l.inLimbs(v, l.SplitMoved(idb), func(limb model.TensorID) *fixed.Int { return sum(ida, limb) })
}

// inLimbs is the product of a tensor with limbs p, rounded as described above. product makes the product of one limb.
func (l *lowering) inLimbs(v *value, p fixed.Split, product func(limb model.TensorID) *fixed.Int) *fixed.Int {
	low, high := product(p.Low), product(p.High)
	drop := max(l.carryShift(v, low.Frac, p.Bits), p.Bits)
	return high.Plus(l.RoundCarry(v.name+", carry", low, drop).Times(1 << (drop - p.Bits)))
}

// rowSum bounds the sum of the magnitudes of the count entries of a factor that one sum of products
// takes. last says whether these are along its last axis.
func (l *lowering) rowSum(id model.TensorID, count int, last bool) int64 {
	most := l.Magnitude(id) * int64(count)
	if s, ok := l.RowSums[id]; ok && last {
		return min(most, s)
	}
	return most
}

// bothLimbs is a sum v of products of two wide values in limbs of both,
//
//	a·b = 2^(i+j)·Σ ah·bh + 2^j·Σ al·bh + 2^i·Σ ah·bl + Σ al·bl,
//
// on the scale of the first sum, whose unit is 2^(i+j). The second and the third sum are rounded to carries. Each product in the
// last sum is less than one unit, and a quarter of a unit stands for it. The result is nil if the sum of the
// high limbs does not fit an accumulator.
func (l *lowering) bothLimbs(v *value, ida, idb model.TensorID, c contraction, sum func(a, b model.TensorID) *fixed.Int) *fixed.Int {
	pa, pb := l.SplitMoved(ida), l.SplitMoved(idb)
	reach := float64(c.count) * float64(l.Magnitude(pa.High)) * float64(l.Magnitude(pb.High))
	if reach > float64(l.limitOf(v))/2 {
		return nil
	}
	e := sum(pa.High, pb.High)
	e = e.Plus(l.RoundCarry(v.name+", carry", sum(pa.Low, pb.High), pa.Bits))
	e = e.Plus(l.RoundCarry(v.name+", other carry", sum(pa.High, pb.Low), pb.Bits))
	return e.PlusConst(int64(c.count) / 4)
}

// entryLimbs is a product v of two wide values entry by entry, in limbs of both,
//
//	a·b = 2^(i+j)·ah·bh + 2^i·ah·bl + 2^j·al·bh + al·bl.
//
// The last product is rounded to a carry to the two in the middle, and their sum to a carry to
// the first. The scale of the result is as many bits finer than that of the first product as v has use for and the
// accumulator has room for. The result is nil if the accumulator has no room even for the first product.
func (l *lowering) entryLimbs(v *value, ida, idb model.TensorID, sum func(a, b model.TensorID) *fixed.Int) *fixed.Int {
	pa, pb := l.SplitMoved(ida), l.SplitMoved(idb)
	less, more := min(pa.Bits, pb.Bits), max(pa.Bits, pb.Bits)
	high, middle := sum(pa.High, pb.High), sum(pa.High, pb.Low).Finer(pa.Bits-less).Plus(sum(pa.Low, pb.High).Finer(pb.Bits-less))
	if float64(high.Abs()) > float64(l.limitOf(v))/2 || middle.Abs() > model.Bound/4 {
		return nil
	}
	finer := 0
	if frac, ok := l.roundedFrac(v); ok {
		finer = min(max(frac+2-high.Frac, 0), more-1)
	}
	for finer > 0 && float64(high.Abs())*fixed.Pow2(finer) > float64(l.limitOf(v))/2 {
		finer--
	}
	middle = middle.Plus(l.RoundCarry(v.name+", low carry", sum(pa.Low, pb.Low), less))
	return high.Finer(finer).Plus(l.RoundCarry(v.name+", carry", middle, more-finer))
}

// wide reports whether a value has a format of more than NarrowBits, or is a sum in a stream.
func (l *lowering) wide(v *value) bool {
	_, stream := l.stream[v.name]
	return stream || l.formatted(v) > fixed.NarrowBits
}

// elementwise is the product v of two computed values, entry by entry, with broadcasting. It is taken in
// limbs if v has a wide format and one accumulator does not hold it.
func (l *lowering) elementwise(v, a, b *value) *fixed.Int {
	product := func(ida, idb model.TensorID) *fixed.Int { return l.EntryProduct(v.shape, ida, idb) }
	return l.productOf(v, a, b, contraction{count: 1}, product)
}

// contraction tells what a product of a and b sums over: count entries of each. lastA and lastB say whether these are
// along the last axis of a, and of b.
type contraction struct {
	count        int
	lastA, lastB bool
}

// reach bounds the magnitude of a sum of products of entries of a and b.
func (l *lowering) reach(a, b model.TensorID, c contraction) float64 {
	sumA, sumB := l.rowSum(a, c.count, c.lastA), l.rowSum(b, c.count, c.lastB)
	return math.Min(float64(sumA)*float64(l.Magnitude(b)), float64(sumB)*float64(l.Magnitude(a)))
}

// fitProduct returns tensors of a and b whose sum of products fits the accumulator of v. While it does not, the one with
// the larger magnitude is rounded to fewer bits.
func (l *lowering) fitProduct(v, a, b *value, c contraction) (model.TensorID, model.TensorID) {
	type factor struct {
		of   *value
		id   model.TensorID
		bits int // it was rounded to so many bits; its tensor may have more
	}
	x, y := &factor{a, l.tightened(a), noBound}, &factor{b, l.tightened(b), noBound}
	for {
		over := l.reach(x.id, y.id, c) / float64(l.limitOf(v))
		if over <= 1 {
			return x.id, y.id
		}
		wide := x
		if l.Magnitude(y.id) > l.Magnitude(x.id) {
			wide = y
		}
		// Half of the missing bits, rounded up, so that both factors share the loss.
		loss := 1
		for over > fixed.Pow2(2*loss) {
			loss++
		}
		wide.bits = min(model.Log2Ceil(int(l.Magnitude(wide.id)))-loss, wide.bits-1)
		refuse.If(wide.bits < 4, "a sum of %d products does not fit in 30 bits with at least 4 bits a factor", c.count)
		wide.id = l.narrowed(wide.of, wide.bits)
	}
}

// wantsLimbs reports whether the product should be taken in limbs of x, because one accumulator leaves the weights fewer
// bits (m.bits) than v's format asks for, or, if x is wide or has a format, fewer than goodWeightBits.
func (m *meeting) wantsLimbs() bool {
	want := m.opts.Formats[m.v.name].Weights
	if m.formatted(m.x) > 0 || m.wide(m.x) {
		// A format that makes x finer should not make the weights coarser.
		want = max(want, goodWeightBits)
	}
	return m.bits < want && m.Magnitude(m.id) >= 1<<8
}

// carryShift is m, the number of bits that rounding A_low to a carry drops. frac is the scale of A_low, and bits is k, the
// size of the low limb. The rounding is off by at most 2^(m−1). That is half a unit of A_high, or, if v is rounded to a
// scale so coarse that it is more, an eighth of the unit of that scale, with m at most MostShift. If v is added to a stream
// on a scale finer than A_high's, it is half a unit of the stream's scale, with m at least k/2.
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

// limbing is a product with weights that is taken in limbs of the value x. high is the accumulator of the high limb, low that
// of the low one.
type limbing struct {
	*meeting
	low         int                   // size of the low limb in bits
	highs, lows weights.OperandBounds // bounds of the limbs' entries
	extra, rest float64               // the most that bias and next summand add, in units of the high limb; that the weights' second part adds
	frac        int                   // scale of the weights
	short       bool                  // whether there was no room for finer weights
}

// limbs chooses the scale of weights that multiply the limbs of m.id: the finest for which
// the high limb's accumulator has room, but no finer than is of use; in an adapter, the base's scale. The result may not
// fit (limbing.fits): a sum of very many products fits on no scale.
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
	x.frac = m.opts.WeightBits - 2 - fixed.FloorLog2(stats.Most) // the largest weight has WeightBits, sign included
	if want > 0 && want <= PartWeights {
		// Or a finer one, on which half the channels have the bits that the format asks for, if a few channels are far larger.
		x.frac = max(x.frac, min(want-1-fixed.FloorLog2(stats.Median), 29-fixed.FloorLog2(stats.Most)))
	}
	least := -fixed.FloorLog2(stats.Most) - 2 // on this scale all weights are rounded to 0
	for ; x.frac >= least && !x.fits(x.reach()); x.frac-- {
		x.short = true
	}
	for _, x.frac = range m.baseScales() {
		if x.fits(x.reach()) {
			break
		}
	}
	return x
}

// drop is m, the number of bits that rounding A_low to a carry drops (carryShift).
func (x *limbing) drop() int { return x.carryShift(x.v, x.Circuit.Tensors[x.id].Frac+x.frac, x.low) }

// reach bounds the magnitudes of the two accumulators.
func (x *limbing) reach() (high, low float64) {
	s := x.scaledBy(x.stats, x.frac)
	return s.Reach(x.highs).Most(), s.Reach(x.lows).Most()
}

// fits reports whether v can be rounded from the product if the two accumulators have magnitudes up to these: high, the carry
// with its rounding, the carry of the weights' second part, and what is added later have to stay within the limit together.
func (x *limbing) fits(high, low float64) bool {
	total := high + float64(low*fixed.Pow2(-x.low)) + x.rest + fixed.Pow2(max(x.drop()-x.low, 0)) + float64(x.extra*fixed.Pow2(x.frac)) + 1
	return total <= float64(x.limitOf(x.v)) && low < model.Bound/2
}

// medianBits is the number of bits of the median of the channels' largest weights: half the channels have as many or more.
func (x *limbing) medianBits() int { return fixed.FloorLog2(x.stats.Median*fixed.Pow2(x.frac)) + 1 }

// crowds reports whether the value x should first be rounded to LimbedBits and clamped to its calibrated range. That is so if
// the weights have fewer than usualWeightBits in half the channels, for lack of room, and x is a stream or has a format of at
// most LimbedBits, but its static bound is 2^mostLimbed or more, as that of a sum of many values. x must not be in limbs yet.
func (x *limbing) crowds() bool {
	of := x.meeting.x
	_, stream := x.stream[of.name]
	asked := x.formatted(of)
	may := (stream || asked > 0 && asked <= LimbedBits) && x.Magnitude(x.id) >= 1<<mostLimbed
	_, have := x.Splits[x.id]
	return may && !have && x.short && x.medianBits() < usualWeightBits
}

// weighted lowers v = x·weights + bias with x in limbs. It does nothing and returns false if the product does not fit, or if the
// weights would have no more bits than they have without limbs.
func (x *limbing) weighted() bool {
	m, v := x.meeting, x.v
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
	carry := m.RoundCarry(v.name+", carry", part, x.drop())
	if up := p.Bits - x.drop(); up > 0 {
		// The stream's scale is finer than that of the high limb's product: on it the product and the carry are two terms.
		e = m.Of(m.roundAt(v, e, e.Frac))
		e = e.Finer(up).Plus(carry)
	} else {
		e = e.Plus(carry.Times(1 << -up))
	}
	if fine > 0 {
		// The second part of the weights, that is, what rounding took from them, times the high limbs. Its product with the
		// low limbs is below one unit of the sum and left out.
		id, most := m.restOf(&m.weighting, x.frac, fine)
		rest := m.product(m.lowering, p.High, id, weights.Around(float64(int64(m.count)*most*m.Magnitude(p.High))))
		rest = m.RoundCarry(v.name+", fine carry", rest, fine)
		e = e.Plus(rest.Times(1 << (e.Frac - rest.Frac)))
	}
	v.acc = m.plusBias(e, m.bias)
	return true
}

// finestParts is the most bits that the second part of weights has.
const finestParts = 8

// restOf adds the fixed tensor of the second part of weights: w·2^frac − round(w·2^frac), in units of 2^−fine. It also
// returns the largest magnitude of the entries, 2^(fine−1).
func (l *lowering) restOf(w *weighting, frac, fine int) (id model.TensorID, most int64) {
	most = int64(1) << (fine - 1)
	l.opts.Base.has(w.name, ", rest", w.t.Tensor, w.shape, frac+fine)
	id = l.Fixed(w.name+", rest", w.shape, frac+fine, -most, most, weights.Remainders(w.t, frac, fine))
	l.weights[id] = w.t
	l.Key(fmt.Sprint(w.name, " by ", w.t.By, w.shape, frac, " rest of ", fine), 0)
	return id, most
}

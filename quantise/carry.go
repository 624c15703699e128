package quantise

import (
	"fmt"
	"math"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// A product with a wide tensor x = 2^k·high + low takes two accumulators with the
// same weights, or with the same computed factor, A_high = Σ w·high and A_low = Σ w·low. The second one is rounded to
// a carry,
//
//	A_low + 2^(m−1) = 2^m·carry + rest,
//
// by a look-up of the same shape as that which will round the whole,
// A_high + 2^(m−k)·carry: it is the sum in units of 2^k of x's, and off by at most
// 2^(m−k−1) of them, a small part of what rounding drops.

// productLimbs is a sum of products of two values whose formats one accumulator does
// not hold, in limbs of the second; nil if it does, or has no use for them. sum is
// that of two tensors.
func (l *lowering) productLimbs(v, a, b *value, c contraction, sum func(a, b model.TensorID) *expr) *expr {
	one := c.count == 1 && l.formatted(v) > narrowBits
	if l.opts.Formats[v.name].Weights == 0 && !one {
		return nil
	}
	ida, idb := l.tightened(a), l.tightened(b)
	if l.reach(ida, idb, c) <= float64(c.limit) || l.magnitude(idb) < 1<<8 {
		return nil
	}
	bits := (model.Log2Ceil(int(l.magnitude(idb))+1) + 1) / 2
	if room := c.limit / int64(2*c.count); l.rowSum(ida, c)<<bits > c.limit/2 {
		if one && l.finestOf(v) && l.wide(a) && l.wide(b) {
			if e := l.entryLimbs(v, ida, idb, sum); e != nil {
				return e
			}
		}
		if l.wide(a) && l.wide(b) && l.opts.Formats[v.name].Weights > 0 {
			if e := l.bothLimbs(v, ida, idb, c, sum); e != nil {
				return e
			}
		}
		if !one {
			return nil
		}
		ida = l.narrowed(a, floorLog2(float64(room))-bits)
	}
	p := l.movedParts(idb)
	part, e := sum(ida, p.low), sum(ida, p.high)
	drop := max(l.carryShift(v, part.frac, p.bits), p.bits)
	carry := l.carryOn(v.name+", carry", part, part.frac-drop)
	return e.plus(l.tensorExpr(carry, nil, v.shape).times(1 << (drop - p.bits)))
}

// rowSum bounds the sum of the magnitudes of what a sum of products takes from its first
// factor.
func (l *lowering) rowSum(a model.TensorID, c contraction) int64 {
	most := l.magnitude(a) * int64(c.count)
	if s, ok := l.rowSums[a]; ok && c.lastA {
		return min(most, s)
	}
	return most
}

// bothLimbs is a sum of products of two wide values in limbs of both,
//
//	a·b = 2^(i+j)·Σ ah·bh + 2^j·Σ al·bh + 2^i·Σ ah·bl + Σ al·bl,
//
// in units of 2^(i+j): the second and the third sum are rounded to carries, and the last
// is below a unit for each product, and taken to be a quarter. Nil if the sum of the high
// limbs does not fit.
func (l *lowering) bothLimbs(v *value, ida, idb model.TensorID, c contraction, sum func(a, b model.TensorID) *expr) *expr {
	pa, pb := l.movedParts(ida), l.movedParts(idb)
	reach := float64(c.count) * float64(l.magnitude(pa.high)) * float64(l.magnitude(pb.high))
	if reach > float64(c.limit)/2 {
		return nil
	}
	carry := func(what string, part *expr, bits int) *expr {
		return l.tensorExpr(l.carryOn(v.name+what, part, part.frac-bits), nil, v.shape)
	}
	e := sum(pa.high, pb.high)
	e = e.plus(carry(", carry", sum(pa.low, pb.high), pa.bits)).plus(carry(", other carry", sum(pa.high, pb.low), pb.bits))
	return e.plusConst(int64(c.count) / 4)
}

// entryLimbs is a product of two wide values entry by entry, in limbs of both,
//
//	a·b = 2^(i+j)·ah·bh + 2^i·ah·bl + 2^j·al·bh + al·bl,
//
// of which the last is rounded to a carry to the two in the middle, and the sum of those
// to one to the first, as many bits finer than that as the value has use for. Nil if they
// do not fit.
func (l *lowering) entryLimbs(v *value, ida, idb model.TensorID, sum func(a, b model.TensorID) *expr) *expr {
	pa, pb := l.movedParts(ida), l.movedParts(idb)
	less, more := min(pa.bits, pb.bits), max(pa.bits, pb.bits)
	carry := func(what string, e *expr, bits int) *expr {
		return l.tensorExpr(l.carryOn(v.name+what, e, e.frac-bits), nil, e.shape)
	}
	in := func(e *expr, bits int) *expr { // in finer units
		e = e.times(1 << bits)
		e.frac += bits
		return e
	}
	high, middle := sum(pa.high, pb.high), in(sum(pa.high, pb.low), pa.bits-less).plus(in(sum(pa.low, pb.high), pb.bits-less))
	if float64(high.abs()) > float64(l.limitOf(v))/2 || middle.abs() > model.Bound/4 {
		return nil
	}
	finer := 0
	if frac, ok := l.roundedFrac(v); ok {
		finer = min(max(frac+2-high.frac, 0), more-1)
	}
	for finer > 0 && float64(high.abs())*pow2(finer) > float64(l.limitOf(v))/2 {
		finer--
	}
	middle = middle.plus(carry(", low carry", sum(pa.low, pb.low), less))
	return in(high, finer).plus(carry(", carry", middle, more-finer))
}

// movedParts is partsOf for a tensor whose entries may be those of another one, which
// is cut instead.
func (l *builder) movedParts(id model.TensorID) parts {
	t := l.g.Tensors[id]
	if _, known := l.parts[id]; known || t.Kind != model.Virtual || len(t.Def) != 1 || t.Def[0].Coef != 1 || t.Def[0].View.Sums() {
		return l.partsOf(id)
	}
	p := l.movedParts(t.Def[0].Src)
	for _, limb := range []*model.TensorID{&p.high, &p.low} {
		from := l.g.Tensors[*limb]
		*limb = l.add(model.Tensor{Name: from.Name, Shape: t.Shape, Kind: model.Virtual, Frac: from.Frac, Min: min(from.Min, 0), Max: max(from.Max, 0),
			Def: []model.Linear{{Coef: 1, Src: *limb, View: t.Def[0].View}}})
	}
	l.parts[id] = p
	return p
}

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

// carryShift is m for a product on a scale of frac, before its limbs of the given
// bits: with 2^s what rounding the whole drops, the carry is off by at most 2^−3 of
// that, or by half a unit of the whole; or of the stream that the value is added to,
// if that is finer. More than mostShift has no use.
func (l *lowering) carryShift(v *value, frac, bits int) int {
	out, ok := l.roundedFrac(v)
	switch drops := frac - bits - out; {
	case !ok:
		return bits
	case drops < 0 && l.streamOf(v):
		return max(bits+drops, bits/2)
	default:
		return max(bits, min(bits+drops-2, mostShift))
	}
}

// limbing is how weights meet the limbs of a value.
type limbing struct {
	l           *lowering
	v           *value
	stats       *channels
	bits        int           // of the low limb
	highs, lows operandBounds // what is known of the limbs' entries
	extra, rest float64       // what is added, in units of the high limb, and by the weights' second part
	valueFrac   int
	frac, drop  int  // of the weights, and m of the carry
	short       bool // whether room for finer weights is missing
}

// limbingOf chooses the scale of weights that meet the limbs of a tensor: the finest that
// the high limb's accumulator has room for, no finer than they are of use. Sums of very many
// products do not fit on any.
func (l *lowering) limbingOf(v *value, id model.TensorID, w weighting, stats *channels) *limbing {
	p, have := l.parts[id]
	if !have {
		p.bits = model.Log2Ceil(int(l.magnitude(id))+1) / 2
	}
	t := l.g.Tensors[id]
	highMin, highMax := float64(t.Min>>p.bits), float64(t.Max>>p.bits)
	x := &limbing{
		l: l, v: v, stats: stats, bits: p.bits, valueFrac: t.Frac,
		highs: operandBounds{lo: highMin, hi: highMax, count: w.count},
		lows:  operandBounds{hi: pow2(p.bits) - 1, count: w.count},
		extra: float64((magnitudeOf(w.bias) + l.upcoming(v)) * pow2(t.Frac-p.bits)),
	}
	want := l.opts.Formats[v.name].Weights
	if want > partWeights {
		x.rest = float64(float64(w.count)*math.Max(-highMin, highMax)/2) + 1 // what the second part adds at most
	}
	x.frac = l.opts.WeightBits - 2 - floorLog2(stats.most) // their largest size
	if want > 0 && want <= partWeights {
		// Or what gives half the channels their bits, if few are far larger.
		x.frac = max(x.frac, min(want-1-floorLog2(stats.medianOf()), 29-floorLog2(stats.most)))
	}
	least := -floorLog2(stats.most) - 2 // all weights are 0
	for x.drop = x.carryShift(); !x.fits(x.reach()) && x.frac >= least; x.drop = x.carryShift() {
		x.frac--
		x.short = true
	}
	return x
}

// carryShift is m for the weights' scale.
func (x *limbing) carryShift() int { return x.l.carryShift(x.v, x.valueFrac+x.frac, x.bits) }

// reach bounds the two accumulators.
func (x *limbing) reach() (high, low float64) {
	s := x.l.scaledBy(x.stats, x.frac)
	return s.bound(x.highs), s.bound(x.lows)
}

// fits reports whether sums of the limbs up to these can be rounded.
func (x *limbing) fits(high, low float64) bool {
	total := high + float64(low*pow2(-x.bits)) + x.rest + pow2(max(x.drop-x.bits, 0)) + float64(x.extra*pow2(x.frac)) + 1
	return total <= float64(x.l.limitOf(x.v)) && low < model.Bound/2
}

// medianBits are those of half the channels' largest weights.
func (x *limbing) medianBits() int { return floorLog2(x.stats.medianOf()*pow2(x.frac)) + 1 }

// crowds reports whether limbs of all that a value's static bound allows leave weights no room
// for usualWeightBits in half the channels. What a sum of many values may reach is far beyond
// what it does, and limbs of less leave them more: so a stream, or a value of its entries with a
// format for limbs, is rounded to usual ones before, and clamped to its calibrated range.
// Where weights have their bits, or would not have more, it keeps its own.
func (l *lowering) crowds(v, x *value, id model.TensorID, w weighting, stats *channels) bool {
	_, stream := l.stream[x.name]
	asked := l.formatted(x)
	if _, have := l.parts[id]; have || !stream && (asked == 0 || asked > limbedBits) || l.magnitude(id) < 1<<mostLimbed || stats.most == 0 {
		return false
	}
	limbs := l.limbingOf(v, id, w, stats)
	return limbs.short && limbs.medianBits() < usualWeightBits
}

// weightedLimbs lowers v = x·weights + bias with x in limbs. It reports false if
// that would leave the weights no more bits than have been reached without, or none.
func (l *lowering) weightedLimbs(v *value, id model.TensorID, w weighting, stats *channels, bits int) bool {
	if stats.most == 0 {
		return false
	}
	x := l.limbingOf(v, id, w, stats)
	if !x.fits(x.reach()) {
		return false
	}
	frac, drop, want := x.frac, x.drop, l.opts.Formats[v.name].Weights
	if want > 0 && want <= partWeights && x.medianBits() < goodWeightBits {
		l.underprecise = append(l.underprecise, v.name)
	}
	fine := 0 // bits of the weights' second part
	if want > partWeights && w.part == nil {
		fine = max(min(want-x.medianBits(), finestParts), 0)
		for most := float64(w.count) * math.Max(-x.highs.lo, x.highs.hi); fine > 0 && most*pow2(fine-1) >= model.Bound/2; {
			fine--
		}
	}
	if fine == 0 && floorLog2(stats.most*pow2(frac))+1 <= bits {
		return false
	}
	p := l.partsOf(id)
	high, low := x.reach()
	scaled := l.scaledBy(stats, frac)
	h := math.Max(scaled.reachOfAll(x.highs))
	if low2 := math.Max(scaled.reachOfAll(x.lows)); x.fits(h, low2) {
		high, low = h, low2
	}
	wid := w.fixed(l, frac)
	sum := func(limb model.TensorID, bound float64) *expr {
		other, labels := w.operand(limb)
		e := &expr{shape: w.out, frac: l.g.Tensors[limb].Frac + frac, min: -int64(math.Ceil(bound)), max: int64(math.Ceil(bound))}
		e.acc.Products = []model.Product{{Coef: 1, A: other, B: wid, LabelsA: labels, LabelsB: w.labels}}
		return e
	}
	part, e := sum(p.low, low), sum(p.high, high)
	carry := l.tensorExpr(l.carryOn(v.name+", carry", part, part.frac-drop), nil, w.out)
	if up := p.bits - drop; up > 0 {
		// Too coarse for its stream: both are terms of it.
		e = l.tensorExpr(l.roundAt(v, e, e.frac), nil, w.out)
		e = e.times(1 << up)
		e.frac += up
		e = e.plus(carry)
	} else {
		e = e.plus(carry.times(1 << -up))
	}
	if fine > 0 {
		rest := l.finePart(v, w, p, frac, fine)
		e = e.plus(rest.times(1 << (e.frac - rest.frac)))
	}
	if len(w.bias) > 0 {
		e = e.plus(l.tensorExpr(l.constant(w.biasName, w.biasShape, w.bias, e.frac), w.biasView, w.out))
	}
	v.pending = e
	return true
}

// finestParts is the most bits that the second part of weights has.
const finestParts = 8

// finePart is Σ (w·2^frac − round(w·2^frac))·high, rounded: what the weights' rounding
// took from their product with the high limbs. The differences are a fixed tensor, in
// units of 2^−fine; what they make of the low limbs is below the sum's own unit.
func (l *lowering) finePart(v *value, w weighting, p parts, frac, fine int) *expr {
	most := int64(1) << (fine - 1)
	id := l.fixed(w.name+", rest", w.shape, frac+fine, -most, most, remainders(w.t, frac, fine))
	l.weights[id] = w.t
	l.key(fmt.Sprint(w.name, " by ", w.t.by, w.shape, frac, " rest of ", fine), 0)
	other, labels := w.operand(p.high)
	bound := int64(w.count) * most * l.magnitude(p.high)
	e := &expr{shape: w.out, frac: l.g.Tensors[p.high].Frac + frac + fine, min: -bound, max: bound}
	e.acc.Products = []model.Product{{Coef: 1, A: other, B: id, LabelsA: labels, LabelsB: w.labels}}
	return l.tensorExpr(l.carryOn(v.name+", fine carry", e, e.frac-fine), nil, w.out)
}

// remainders returns what rounding weights times 2^frac takes from them, in units of
// 2^−fine.
func remainders(t *constantWeights, frac, fine int) filler {
	scale, units := pow2(frac), pow2(fine)
	return func(dst []int32, from int) {
		buffer := buffers.Get().(*[]float32)
		defer buffers.Put(buffer)
		for i, x := range t.part(from, len(dst), buffer) {
			y := float64(float64(x) * scale)
			dst[i] = int32(math.RoundToEven((y - math.RoundToEven(y)) * units))
		}
	}
}

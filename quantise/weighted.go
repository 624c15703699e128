package quantise

import (
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// weighting is a product of a computed value with constant weights.
type weighting struct {
	name   string // of the constant
	t      *constantWeights
	shape  []int // of the fixed tensor, row-major the same entries
	part   []int // of the part of it that is meant, if not nil (lowering.begun)
	labels []int
	// The output channel of weight i is i/inner mod channels; an output entry
	// sums over count weights of one channel.
	channels, inner, count int
	rows                   bool  // that are a row of the value each, along its last axis
	out                    []int // index space
	// operand turns the value's tensor into the other factor.
	operand func(id model.TensorID) (model.TensorID, []int)
	// bias is added; its entries are wired to the output by biasView.
	biasName  string
	bias      []float64
	biasShape []int
	biasView  *model.View
}

// Bits of weights and activations that products aim at: one activation gives
// way to the weights below minWeightBits, all of the model's below
// goodWeightBits.
const (
	minWeightBits  = 8
	goodWeightBits = 10
	// usualWeightBits are those that products of values with a format have, if there
	// is room.
	usualWeightBits = 12
	// mostLimbed are those of the largest value whose limbs weights multiply as they are in any case.
	mostLimbed = limbedBits + 2
)

// weighted lowers v = x·weights + bias as a pending product with the finest
// weights that the static bound allows.
func (l *lowering) weighted(v, x *value, w weighting) {
	stats := l.statsOf(w)
	most, bias := stats.most, 0.0
	for _, b := range w.bias {
		bias = math.Max(bias, math.Abs(b))
	}
	id := l.tensor(x)
	if sum := stats.sum * float64(l.magnitude(id)) * pow2(-l.g.Tensors[id].Frac); sum < bias*pow2(-24) {
		// As floats would have it, the sum is the bias.
		bid := l.constant(w.biasName, w.biasShape, w.bias, floorLog2(pow2(24)/bias))
		v.pending = l.tensorExpr(bid, w.biasView, w.out)
		return
	}
	// Room for what comes next is a wish, room for the bias is not.
	extra := bias + l.upcoming(v)
	frac, bits := l.weightFrac(v, id, stats, w, most, extra)
	if bits < minWeightBits && extra > bias {
		extra = bias
		frac, bits = l.weightFrac(v, id, stats, w, most, extra)
	}
	if l.inLimbs(v, x, id, bits) {
		if l.crowds(v, x, id, w, stats) {
			id = l.narrowed(x, limbedBits)
			frac, bits = l.weightFrac(v, id, stats, w, most, extra)
		}
		if l.weightedLimbs(v, id, w, stats, bits) {
			return
		}
	}
	xbits := model.Log2Ceil(int(l.magnitude(id)))
	if l.opts.Mode != modeW8A8 && l.formatted(x) == 0 {
		// With plenty of bits for the two, activations have what they want; of
		// few, half each, since the rounding errors of both weigh the same.
		total := xbits + bits
		if total >= wantedBits+goodWeightBits {
			l.maxBits = min(l.maxBits, total-goodWeightBits)
		} else {
			l.maxBits = min(l.maxBits, max((total+2)/2, leastBits))
		}
	}
	coarser := func() {
		e := l.tensorExpr(id, nil, x.shape)
		id = l.roundTo(x.name, e, e.frac-(minWeightBits-bits))
		frac, bits = l.weightFrac(v, id, stats, w, most, extra)
	}
	if bits < minWeightBits && most > 0 {
		if x.rng.abs() == 0 {
			coarser() // calibration tells nothing about its scale
		} else if bits >= 0 && xbits > bits+1 {
			id = l.narrowed(x, max(1, xbits-(xbits-bits)/2))
			frac, bits = l.weightFrac(v, id, stats, w, most, extra)
		}
		// The bias is what takes the bits: what is tiny beside it may become zero.
		for n := 0; bits < 2 && n < 8; n++ {
			coarser()
		}
	}
	if most > 0 && bits < 2 {
		refuse("a sum of %d products does not fit in 30 bits with at least 2 bits a weight", w.count)
	}
	t := l.g.Tensors[id]
	e := &expr{shape: w.out, frac: t.Frac + frac}
	bounds := l.boundsOf(id, w)
	// Channels with larger weights keep WeightBits significant bits.
	scaled := l.scaledBy(stats, frac)
	down, up := scaled.reach(bounds)
	if d, u := scaled.reachOfAll(bounds); bounds.norm == 0 && math.Max(d, u)+float64(extra*pow2(e.frac))+1 <= float64(l.limitOf(v)) {
		up, down = u, d
	}
	if math.Max(up, down) >= model.Bound || scaled.rounded().size >= model.Bound {
		refuse("the accumulator does not fit in 30 bits")
	}
	e.min, e.max = -int64(math.Ceil(down)), int64(math.Ceil(up))
	wid := w.fixed(l, frac)
	other, labels := w.operand(id)
	e.acc.Products = []model.Product{{Coef: 1, A: other, B: wid, LabelsA: labels, LabelsB: w.labels}}
	if len(w.bias) > 0 {
		bid := l.constant(w.biasName, w.biasShape, w.bias, e.frac)
		e = e.plus(l.tensorExpr(bid, w.biasView, w.out))
	}
	v.pending = e
}

// boundsOf returns what is known of the entries of an operand.
func (l *lowering) boundsOf(id model.TensorID, w weighting) operandBounds {
	t := l.g.Tensors[id]
	b := operandBounds{lo: math.Min(float64(t.Min), -1), hi: math.Max(float64(t.Max), 1), count: w.count}
	if t.Min >= 0 {
		b.lo = 0
	}
	if w.rows {
		b.norm = l.rowNorms[id]
	}
	return b
}

// magnitude is the largest absolute value of a tensor, at least 1.
func (l *builder) magnitude(id model.TensorID) int64 {
	return max(-l.g.Tensors[id].Min, l.g.Tensors[id].Max, 1)
}

// weightFrac chooses the scale of weights that meet the tensor: the finest for
// which every channel's accumulator, with extra (real) room for what is added
// to it, can be rounded, but not finer than rounding with the model's common
// shift makes use of if that leaves enough bits. It returns the bits of the
// largest weight as well.
func (l *lowering) weightFrac(v *value, id model.TensorID, stats *channels, w weighting, most, extra float64) (frac, bits int) {
	t := &l.g.Tensors[id]
	if most == 0 {
		return 0, 0
	}
	bounds := l.boundsOf(id, w)
	limit := float64(l.limitOf(v))
	fits := func(frac int) bool {
		return l.scaledBy(stats, frac).bound(bounds)+float64(extra*pow2(t.Frac+frac))+1 <= limit
	}
	frac = 29 - floorLog2(most)
	for !fits(frac) {
		frac--
		if frac < -floorLog2(most)-2 {
			break
		}
	}
	bits = floorLog2(most*pow2(frac)) + 1
	if useful, ok := l.usefulFrac(v); ok {
		least := minWeightBits + 1
		if l.roundedItself(v) {
			least = usualWeightBits
		}
		if spare := frac - (useful - t.Frac); spare > 0 {
			spare = max(0, min(spare, bits-least))
			frac, bits = frac-spare, bits-spare
		}
	}
	return frac, bits
}

// usefulFrac is the finest scale of an accumulator that rounding to the value makes
// use of, in one look-up of the remainder; false where that is all there is.
func (l *lowering) usefulFrac(v *value) (frac int, ok bool) {
	shift := l.plan.shift()
	if l.roundedItself(v) {
		shift = mostShift
	}
	frac, ok = l.roundedFrac(v)
	return frac + shift, ok
}

// roundedFrac is the scale that an accumulator of the value will be rounded to;
// false if none is known.
func (l *lowering) roundedFrac(v *value) (frac int, ok bool) {
	if l.streamOf(v) {
		return l.stream[l.consumer(v).Output], true
	}
	r := l.finest(v) * l.opts.Headroom
	if r == 0 || v.output && v.uses == 1 {
		return 0, false
	}
	return floorLog2(float64(int64(1)<<min(l.bitsOf(v), l.roomAfter(v))-1) / r), true
}

// roundedItself reports whether a value is rounded to a format of its own, or to its
// stream's, and not as a part of a sum.
func (l *lowering) roundedItself(v *value) bool {
	c := l.consumer(v)
	return l.streamOf(v) || l.formatted(v) > 0 && (c == nil || !traitsOf(c.Op).sums)
}

// streamOf reports whether the value is rounded to the scale of a stream, to be
// added to it.
func (l *lowering) streamOf(v *value) bool {
	c := l.consumer(v)
	if c == nil || l.fg.Consts[c.Inputs[0]] != nil || len(c.Inputs) > 1 && l.fg.Consts[c.Inputs[1]] != nil {
		return false
	}
	_, ok := l.stream[c.Output]
	return ok
}

// finest is the magnitude that sets the scale on which the value will be
// rounded: its own, or that of a piecewise function that is fused with the
// rounding.
func (l *lowering) finest(v *value) float64 {
	c := l.consumer(v)
	if c == nil {
		return v.rng.abs()
	}
	s, ok := c.Op.(graph.Scalar)
	if !ok || s.Func.Clamp == nil || s.Func.Clamp(s.Params).Abs {
		return v.rng.abs()
	}
	return l.piecewiseRange(l.ranges[c.Output], v.rng, *boundsOf(s))
}

// upcoming is the real magnitude of what the value's one consumer adds to it:
// room for that avoids a rounding in between. What is added to a stream is rounded
// before, so that what the stream holds takes no room.
func (l *lowering) upcoming(v *value) float64 {
	c := l.consumer(v)
	if c == nil || !traitsOf(c.Op).sums || l.streamOf(v) {
		return 0
	}
	for _, in := range c.Inputs {
		if t := l.fg.Consts[in]; t != nil {
			m := 0.0
			for i := range t.Len() {
				m = math.Max(m, math.Abs(t.At(i)))
			}
			if m > 1e3*v.rng.abs() {
				return 0 // a mask
			}
			return m
		}
		if in != v.name {
			return float64(l.ranges[in].abs()*l.opts.Headroom) * 2
		}
	}
	return 0
}

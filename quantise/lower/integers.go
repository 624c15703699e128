package lower

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

// A value of an integer type is the integer itself in the circuit: on scale 0, within ±2^30, and
// never rounded. A node whose result may leave ±2^30 is refused by its name. Beyond its
// calibrated range an integer may be clamped, as other values are, which counts as saturation.
//
// If the accumulator of such a value is on another scale, its whole numbers were computed from floats. Its
// tensor is on scale 0.

func init() { register(lowerWraparound, always[graph.Wraparound](Traits{jumps: true})) }

// commitInteger makes a tensor, on scale 0, of the accumulator e of a value of an integer type.
func (l *lowering) commitInteger(v *value, e *fixed.Int) model.TensorID {
	e = scaledUp(e)
	if e.Frac == 0 {
		if id, ok := l.unrounded(v, e); ok {
			return id
		}
	}
	return l.roundAt(v, e, 0)
}

// refuseInteger refuses a node whose integers may be as large as most.
func refuseInteger(most float64) {
	refuse.With("its integers may be as large as %.10g, by the ranges of what they are computed from: "+
		"a circuit holds exact ones within ±2^30", most)
}

// keepInteger checks the value of an integer type that an operator has made: a tensor is brought to scale 0, and an
// accumulator on scale 0 that may leave ±2^30 is refused.
func (l *lowering) keepInteger(v *value) {
	switch {
	case v.id != model.None:
		t := l.Circuit.Tensors[v.id]
		if t.Frac != 0 && t.Kind != model.Empty {
			e := l.Of(v.id)
			v.id, v.shaped = model.None, model.None
			v.id = l.commitInteger(v, e)
		}
	case v.acc != nil && v.acc.Frac == 0 && v.acc.Abs() >= model.Bound:
		refuseInteger(float64(v.acc.Abs()))
	}
}

// bitsOfRange is the least n such that the calibrated range is within ±(2^n − 1).
func bitsOfRange(r Range) int { return max(fixed.FloorLog2(r.Abs())+1, 1) }

// clampedInteger is a tensor of the integer x within ±(2^bits − 1): x's own, or a clamped one if x may be beyond.
func (l *lowering) clampedInteger(x *value, bits int) model.TensorID {
	id := l.tensor(x)
	if l.Magnitude(id) < 1<<bits {
		return id
	}
	return fixed.Remember(&x.clamped, bits, func() model.TensorID {
		return l.RoundOn(x.name, l.Of(id), 0, bits, fixed.WholeLine)
	})
}

// fitIntegers returns tensors of operands, clamped nearer to their calibrated ranges as far as that is needed for the
// result to be within ±2^29, which every look-up has room for, or else within ±2^30. reach gives the
// largest magnitude of the result for operands of the given magnitudes.
func (l *lowering) fitIntegers(xs []*value, reach func(sizes []float64) float64) []model.TensorID {
	bits, most := l.clampsFor(xs, model.Bound/2, reach)
	if bits == nil {
		bits, most = l.clampsFor(xs, model.Bound, reach)
	}
	if bits == nil {
		refuseInteger(most)
	}
	ids := make([]model.TensorID, len(xs))
	for i, x := range xs {
		ids[i] = l.clampedInteger(x, bits[i])
	}
	return ids
}

// clampsFor returns the numbers of bits to which operands have to be clamped for reach to be below the limit. No operand
// is clamped below its calibrated range. If that is not enough, it returns nil and the reach that is left.
func (l *lowering) clampsFor(xs []*value, limit float64, reach func(sizes []float64) float64) ([]int, float64) {
	sizes, bits := make([]float64, len(xs)), make([]int, len(xs))
	for i, x := range xs {
		sizes[i] = float64(l.Magnitude(l.tensor(x)))
		bits[i] = fixed.FloorLog2(sizes[i]) + 1
	}
	for reach(sizes) >= limit {
		most := 0 // the operand whose bits exceed its calibrated range the most
		for i, x := range xs {
			if bits[i]-bitsOfRange(x.rng) > bits[most]-bitsOfRange(xs[most].rng) {
				most = i
			}
		}
		if bits[most] <= bitsOfRange(xs[most].rng) {
			return nil, reach(sizes)
		}
		if sizes[most] >= fixed.Pow2(bits[most])-1 {
			bits[most]--
		}
		sizes[most] = fixed.Pow2(bits[most]) - 1
	}
	return bits, 0
}

// integerProduct lowers a product of integers. If it does not fit but is only read modulo 2^16 (wraps), it is computed modulo
// 2^16, in limbs of b.
func (l *lowering) integerProduct(v, a, b *value) {
	product := func(ida, idb model.TensorID) *fixed.Int { return l.EntryProduct(v.shape, ida, idb) }
	ida, idb := l.tensor(a), l.tensor(b)
	if l.wraps(v) && l.Magnitude(ida)*l.Magnitude(idb) >= model.Bound/2 {
		// a·b = 2^k·(a·high) + a·low, where it is enough to have a·high modulo 2^(wrapped−k).
		p := l.SplitOf(idb)
		high := l.modulo(v.name+", high", product(ida, p.High), wrapped-p.Bits)
		v.acc = high.Times(1 << p.Bits).Plus(product(ida, p.Low))
		return
	}
	ids := l.fitIntegers([]*value{a, b}, func(s []float64) float64 { return s[0] * s[1] })
	v.acc = product(ids[0], ids[1])
	if a == b { // a square
		v.acc.Min = 0
	}
}

// wholeConstant returns the entries of a constant of integers, at the bound of a free length. It refuses entries beyond
// ±2^30.
func (l *lowering) wholeConstant(name string) []float64 {
	t, _ := l.whole(name)
	values := t.Float64s()
	if most := magnitudeOf(values); most >= model.Bound-1 {
		refuse.With("constant %q has integers of up to %.10g: a circuit holds exact ones within ±2^30", name, most)
	}
	return values
}

// integerMultiple lowers a product of the integers x with the named constant. If it does not fit but is only read modulo
// 2^16 (wraps), it is computed modulo 2^16, in two parts of the constant.
func (l *lowering) integerMultiple(v, x *value, name string) {
	t, part := l.whole(name)
	values := l.wholeConstant(name)
	most := magnitudeOf(values)
	if l.wraps(v) && part == nil && float64(l.Magnitude(l.tensor(x)))*most >= model.Bound/2 {
		const k = 8
		high, low := make([]float64, len(values)), make([]float64, len(values))
		for i, y := range values {
			high[i] = math.Floor(y / (1 << k))
			low[i] = y - float64(high[i]*(1<<k))
		}
		id := l.tensor(x)
		above := l.modulo(v.name+", high", l.timesConstants(v, id, name, t.Shape, high), wrapped-k)
		v.acc = above.Times(1 << k).Plus(l.timesConstants(v, id, name, t.Shape, low))
		return
	}
	if c, same := l.numbersOf(t).same(); same {
		if most >= 2 {
			l.tensor(x) // a tensor of x alone, which other nodes may read
		}
		e := l.broadcast(x, v.shape)
		if float64(e.Abs())*most >= model.Bound/2 {
			id := l.fitIntegers([]*value{x}, func(s []float64) float64 { return s[0] * most })[0]
			e = l.broadcastOf(id, v.shape)
		}
		v.acc = e.Times(int64(c))
		if c != 0 && slices.Equal(x.shape, v.shape) {
			l.setAffine(v, x, c, 0)
		}
		return
	}
	id := l.fitIntegers([]*value{x}, func(s []float64) float64 { return s[0] * most })[0]
	if part != nil {
		ida, la := l.Squeezed(id, v.shape)
		c, lc := l.Squeezed(l.begun(l.Constant(name, t.Shape, values, 0), part), v.shape)
		v.acc = l.Product(v.shape, ida, la, c, lc, 1)
		return
	}
	v.acc = l.timesConstants(v, id, name, t.Shape, values)
}

// timesConstants is the product of a tensor with whole numbers of a shape, entry by entry in v's shape, to which both
// broadcast.
func (l *lowering) timesConstants(v *value, id model.TensorID, name string, shape []int, values []float64) *fixed.Int {
	ida, la := l.Squeezed(id, v.shape)
	labels, kept := fixed.BroadcastLabels(shape, v.shape)
	list := make([]int32, len(values))
	for i, x := range values {
		list[i] = int32(x)
	}
	c := l.Fixed(name, kept, 0, int64(slices.Min(values)), int64(slices.Max(values)), fixed.Listed(list))
	return l.Product(v.shape, ida, la, c, labels, 1)
}

// wrapped is the number of bits of the integer types for which a product may be computed modulo 2^wrapped, in two parts.
const wrapped = 16

// wraps reports whether the only use of a value is to be wrapped around into a type of that many bits.
func (l *lowering) wraps(v *value) bool {
	w, is := l.consumer(v).Op.(graph.Wraparound)
	return is && w.To.Bits() == wrapped
}

// integerClamp lowers a clamp of the integers x, or of their magnitudes.
func (l *lowering) integerClamp(v, x *value, b fixed.Piecewise) {
	e := l.broadcast(x, x.shape)
	lo, hi := b.At(0)
	if b.Kind == fixed.Absolute && e.Min >= 0 {
		b.Kind = fixed.Keep
	}
	switch {
	case b.Kind == fixed.Keep && lo <= e.Min && hi >= e.Max:
		v.acc = e
	case b.Lo >= model.Bound || b.Hi <= -model.Bound:
		refuseInteger(math.Max(b.Lo, -b.Hi))
	case b.Kind == fixed.Keep && (lo >= e.Max || hi <= e.Min):
		c := min(max(e.Min, lo), hi)
		v.acc = (&fixed.Int{Shape: e.Shape}).PlusConst(c)
	case fixed.TableBits(e.Min, e.Max) <= fixed.WideTable:
		v.id = l.RoundOn(v.name, e, 0, fixed.FormatBits, b)
	case b.Kind == fixed.Keep:
		v.acc = l.ClampWhole(v.name, e, max(lo, e.Min), min(hi, e.Max))
	default: // |e| = 2·[e ≥ 0]·e − e
		id := l.TensorOf(v.name, e)
		above := l.EntryProduct(e.Shape, l.NotNegative(v.name+", sign", e), id).Within(0, max(e.Max, 0))
		v.acc = above.Times(2).Minus(l.Of(id)).Within(0, e.Abs())
		if above.Max >= model.Bound/2 {
			refuseInteger(2 * float64(above.Max))
		}
	}
}

// lowerWraparound lowers x mod 2^n, taken into the range of an integer type of n bits whose least number is L: as
// L + ((x − L) mod 2^n).
func lowerWraparound(l *lowering, op graph.Wraparound, v *value, in []*value) {
	var e *fixed.Int // on scale 0
	if x := in[0]; l.integers(x.name) {
		e = l.broadcast(x, x.shape)
	} else {
		e = scaledUp(l.notFiner(l.operandFlat(x)))
	}
	least, most := op.To.Bounds()
	if e.Min >= least && e.Max <= most {
		v.acc = e
		return
	}
	v.acc = l.modulo(v.name, e.PlusConst(-least), op.To.Bits()).PlusConst(least)
}

// modulo is e mod 2^bits, in [0, 2^bits): the remainder of a look-up of ⌊e/2^bits⌋.
func (l *lowering) modulo(name string, e *fixed.Int, bits int) *fixed.Int {
	lo, hi := e.Min>>bits, e.Max>>bits
	size := fixed.TableBits(lo, hi)
	if lo >= 0 {
		size-- // a table that begins at 0
	}
	if size = max(size, min(fixed.FormatTable, 30-bits)); e.Abs() >= model.Bound || size+bits > 30 {
		refuseInteger(float64(e.Abs()))
	}
	var rest *fixed.Int
	if lo < 0 {
		_, rest = l.Halve(name+", turns", e, bits, size)
	} else {
		_, rest = l.Cut(name+", turns", e, bits, l.ShiftedTable(size, 0), lo, hi)
	}
	l.InRange(rest, bits)
	return rest
}

// notFiner returns e on scale 0 if it is on a finer one, rounded down.
func (l *lowering) notFiner(e *fixed.Int) *fixed.Int {
	if e.Frac > 0 {
		return floor(l.Builder, "whole", e)
	}
	return e
}

// scaledUp returns e on scale 0 if it is on a coarser one, that is, an integer times a power of two.
func scaledUp(e *fixed.Int) *fixed.Int {
	if e.Frac >= 0 {
		return e
	}
	up := fixed.Pow2(-e.Frac)
	if most := float64(e.Abs()) * up; most >= model.Bound {
		refuseInteger(most)
	}
	return e.Times(int64(up)).On(0)
}

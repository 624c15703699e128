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
// never rounded. What would leave ±2^30 is refused, by the node's name. It may be clamped
// beyond its calibrated range, which counts as saturation, as other values are.
//
// An accumulator on another scale is one of whole numbers that floats made, and becomes a
// tensor on scale 0.

func init() { register(lowerWraparound, always[graph.Wraparound](Traits{jumps: true})) }

// commitInteger makes a tensor of a value's accumulator.
func (l *lowering) commitInteger(v *value, e *fixed.Int) model.TensorID {
	e = scaledUp(e)
	if e.Frac == 0 {
		if id, ok := l.unrounded(v, e); ok {
			return id
		}
	}
	return l.roundAt(v, e, 0)
}

func refuseInteger(most float64) {
	refuse.With("its integers may be as large as %.10g, by the ranges of what they are computed from: "+
		"a circuit holds exact ones within ±2^30", most)
}

// keepInteger checks what an operator has made of a value of integer type.
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

// clampedInteger is the tensor of an integer within ±(2^bits − 1): clamped if it may be beyond.
func (l *lowering) clampedInteger(x *value, bits int) model.TensorID {
	id := l.tensor(x)
	if l.Magnitude(id) < 1<<bits {
		return id
	}
	return fixed.Remember(&x.clamped, bits, func() model.TensorID {
		return l.RoundOn(x.name, l.Of(id), 0, bits, fixed.WholeLine)
	})
}

// fitIntegers returns the tensors of operands, clamped nearer to their calibrated ranges where
// without that reach, the largest result of operands of such sizes, is beyond ±2^29, which
// every look-up has room for, or ±2^30.
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

// clampsFor returns the bits to which operands are clamped so that reach is below a limit, none
// below its calibrated range; nil if that is not enough, with what reach is then.
func (l *lowering) clampsFor(xs []*value, limit float64, reach func(sizes []float64) float64) ([]int, float64) {
	sizes, bits := make([]float64, len(xs)), make([]int, len(xs))
	for i, x := range xs {
		sizes[i] = float64(l.Magnitude(l.tensor(x)))
		bits[i] = fixed.FloorLog2(sizes[i]) + 1
	}
	for reach(sizes) >= limit {
		most := 0 // the one with the most room
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

// integerProduct lowers a product of integers.
func (l *lowering) integerProduct(v, a, b *value) {
	product := func(ida, idb model.TensorID) *fixed.Int { return l.EntryProduct(v.shape, ida, idb) }
	ida, idb := l.tensor(a), l.tensor(b)
	if l.wraps(v) && l.Magnitude(ida)*l.Magnitude(idb) >= model.Bound/2 {
		// 2^k·a·high + a·low, where a·high counts modulo 2^(wrapped−k) alone.
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

// wholeConstant returns the integers of a constant.
func (l *lowering) wholeConstant(name string) []float64 {
	t, _ := l.whole(name)
	values := t.Float64s()
	if most := magnitudeOf(values); most >= model.Bound-1 {
		refuse.With("constant %q has integers of up to %.10g: a circuit holds exact ones within ±2^30", name, most)
	}
	return values
}

// integerMultiple lowers a product of integers with constants.
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
			l.tensor(x) // which others may read
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

// timesConstants is the product of a tensor with a constant of a shape, in v's shape.
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

// wrapped are the bits of types of which a product in two parts counts modulo that alone.
const wrapped = 16

// wraps reports whether a value is taken into such a type, and nothing else reads it.
func (l *lowering) wraps(v *value) bool {
	w, is := l.consumer(v).Op.(graph.Wraparound)
	return is && w.To.Bits() == wrapped
}

// integerClamp lowers a clamp of integers, or their magnitude.
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

// lowerWraparound lowers x mod 2^n, into the range of an integer type: what a look-up of
// ⌊(x − least)/2^n⌋ leaves.
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

// modulo is e mod 2^bits, which is not negative.
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

// notFiner has whole numbers on no finer scale than they need.
func (l *lowering) notFiner(e *fixed.Int) *fixed.Int {
	if e.Frac > 0 {
		return floor(l.Builder, "whole", e)
	}
	return e
}

// scaledUp brings multiples of a power of two to scale 0.
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

package lower

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

// divide lowers Div by a computed value b. A number over b is a function of b. Otherwise
//   - if b has the relative format, a/b is a difference of logarithms (divRelative);
//   - if b is a function of an earlier value, or there are few divisors, a is multiplied by the reciprocal, which a
//     table has (mulReciprocal);
//   - else a/b is a proved division with remainder (divComputed).
func (l *lowering) divide(v, a, b *value) {
	if a == nil {
		t := l.fg.Consts[v.node.Inputs[0]]
		if c, same := l.numbersOf(t).same(); same && slices.Equal(b.shape, v.shape) {
			v.apply(b, "Div", curve{at: func(x float64) float64 { return c / x }, key: keyOf("over", c)})
			return
		}
		a = l.constantValue(v.node.Inputs[0], t)
	}
	switch {
	case l.relative(b):
		l.divRelative(v, a, b)
	case b.nonlinear():
		ida := l.tightened(a)
		l.mulReciprocal(v, a, b, fixed.FloorLog2(float64(l.Plan.Limit())/float64(l.Magnitude(ida)))-1)
	case l.formatted(v) > 0 && l.fewDivisors(v, b):
		l.mulReciprocal(v, a, b, fewBits)
	default:
		l.divComputed(v, a, b)
	}
}

// fewBits is the number of bits of reciprocals of a few divisors: about half of what an accumulator has, so that
// numerators may have as many.
const fewBits = 14

// fewDivisors reports whether v has 64 quotients or more for each divisor, and the divisors of calibration have one
// sign and magnitudes that differ by 16 times at most: then a table of reciprocals
// costs less than divisions, and is as exact.
func (l *lowering) fewDivisors(v, b *value) bool {
	r := b.rng
	return 64*l.Entries(b.shape) <= l.Entries(v.shape) && r.Least > 0 && r.Abs() <= 16*r.Least && (r.Min > 0 || r.Max < 0)
}

// constantValue makes a value of a constant, in a tensor with the bits that all values share, so that it can
// be an operand like a computed one.
func (l *lowering) constantValue(name string, t *graph.Tensor) *value {
	values := l.numbersOf(t)
	r := NewRange(values.shown).plusNone()
	id := l.constantOf(name, t.Shape, values, scaleOf(l.Plan.Bits, r.Abs()))
	return heldIn(id, value{name: name, shape: t.Shape, rng: r})
}

// mulReciprocal lowers v = a/b as a·(1/b), with 1/b from a table whose values have the given bits: at least 4 and at
// most 16, which may be more than other activations have.
func (l *lowering) mulReciprocal(v, a, b *value, bits int) {
	base, f := b.root()
	r := pending(value{name: "1/" + b.name, shape: b.shape, uses: 1})
	// The calibrated range of the reciprocal.
	if least := b.rng.Least; least > 0 {
		r.rng = Range{Min: 1 / b.rng.Abs(), Max: 1 / least}
	}
	name := "reciprocal"
	if b.fn != nil {
		name = "1/" + b.fn.name
	}
	r.fn = &function{name: name, base: base, curve: f.then(curve{at: func(y float64) float64 { return 1 / y }, key: "1/"})}
	r.id = l.tableFunction(r, max(min(bits, 16), 4))
	v.acc = l.elementwise(v, a, r)
}

// divComputed lowers v = a/b as a division with a proved remainder. It divides by |b|, which is clamped to at
// least the smallest magnitude that calibration met, over the head-room. If b may be negative, the numerator gets b's sign.
func (l *lowering) divComputed(v, a, b *value) {
	bits := l.Plan.Bits
	top := int64(1)<<bits - 1
	// The magnitude |b|, on a scale on which it has the shared bits, by a look-up that clamps it to [lo, top], lo ≥ 1.
	id := l.tensor(b)
	scale := func() int {
		frac := l.Circuit.Tensors[id].Frac
		if r := l.reachOf(b.rng); r > 0 {
			frac = min(frac, scaleOf(bits, r))
		}
		return frac
	}
	frac := scale()
	if e := l.Of(id); fixed.TableBits(fixed.Keys(e, frac)) > l.TableFor(e, frac) { // too many keys: b is clamped first
		id = l.narrowed(b, bits)
		frac = scale()
	}
	tb := l.Circuit.Tensors[id]
	lo := max(1, int64(math.Floor(b.rng.Least/l.opts.Headroom*fixed.Pow2(frac))))
	magnitude := l.Witness("magnitude of "+b.name, b.shape, frac, lo, top)
	divisor := l.Of(id)
	magnitudes := l.PiecewiseOf(fixed.Absolute, lo, top, l.TableFor(divisor, frac))
	l.Clamped(magnitudes, fixed.Absolute, lo, top, true, true)
	l.Lookup(divisor, frac, magnitudes, magnitude)
	// The quotient has as many keys as the model's table, or fewer, so that twice the divisor times the quotient is
	// below 2^30. So neither side of RoundedQuotient's equation wraps.
	table := min(l.Plan.TableBits, 30-(bits+1))
	fits := func(magnitude int64, shift int) bool {
		num := float64(fixed.Pow2(shift+1)*float64(magnitude)) + float64(top)
		return num < model.Bound && fixed.Pow2(shift)*float64(magnitude)/float64(lo)+2 <= fixed.Pow2(table-1)
	}
	numBits := bits
	for !fits(int64(1)<<numBits, 0) {
		if numBits--; numBits < 4 {
			refuse.With("the quotients' range cannot be held in 30 bits")
		}
	}
	num := l.narrowed(a, numBits)
	tn := l.Circuit.Tensors[num]
	// The scale of the quotient: what its calibrated range asks for, if the
	// bounds allow it.
	want := 29 - model.Log2Ceil(int(l.Magnitude(num)))
	if r := l.reachOf(v.rng); r > 0 {
		want = min(want, max(0, scaleOf(bits, r)-(tn.Frac-frac)))
	}
	shift := want
	for !fits(l.Magnitude(num), shift) {
		shift--
	}
	limit := int64(fixed.Pow2(shift)*float64(l.Magnitude(num))/float64(lo)) + 1
	l.Report(fixed.StepReport{
		Entries: l.Entries(v.shape), Bits: numBits - (want - shift), Wanted: bits, Frac: tn.Frac - frac + shift, TableBits: table,
		NeedTable: model.Log2Ceil(int(limit)) + 2 + (want - shift),
	})

	// The divisor's static bounds say which signs it may have: calibration may have missed one of them.
	numExpr := l.broadcastOf(num, v.shape)
	switch {
	case tb.Max <= 0:
		numExpr = numExpr.Times(-1)
	case tb.Min < 0:
		ida, la := l.Squeezed(num, v.shape)
		if fixed.TableBits(tb.Min, tb.Max) <= l.Plan.TableBits {
			s := l.Witness("sign of "+b.name, b.shape, 0, -1, 1)
			l.Lookup(l.Of(id), tb.Frac, l.PiecewiseOf(fixed.Sign, -1, 1, l.Plan.TableBits), s)
			ids, ls := l.Squeezed(s, v.shape)
			numExpr = l.Product(v.shape, ida, la, ids, ls, 1)
			break
		}
		// num·sign(b) = 2·num·[b ≥ 0] − num.
		most := numExpr.Abs()
		s, ls := l.Squeezed(l.NotNegative("sign of "+b.name, l.Of(id)), v.shape)
		twice := l.Product(v.shape, ida, la, s, ls, 1).Times(2).On(numExpr.Frac)
		numExpr = twice.Minus(numExpr).Within(-most, most)
	}
	den, labels := l.Squeezed(magnitude, v.shape)
	qFrac := tn.Frac - frac + shift
	out := l.Witness(v.name, v.shape, qFrac, max(-limit, -top-1), min(limit, top))
	keys, half := l.PiecewiseOf(fixed.Keep, -top-1, top, table), int64(1)<<(table-1)
	q := l.RoundedQuotient("quotient", numExpr.Times(1<<shift), den, fixed.LabelView(labels, v.shape), qFrac, -half, half-1)
	l.Clamped(keys, fixed.Keep, -top-1, top, limit > top, limit > top)
	l.LookupDirect(l.Of(q), keys, out)
	v.id = out
}

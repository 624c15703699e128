package quantise

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
)

// lowerAdd lowers Add and Sub: operands are brought to a common scale by
// powers of two and added in the accumulator.
func lowerAdd(l *lowering, n *graph.Node, op graph.Arithmetic, v *value) {
	sign := 1.0
	if op == graph.Sub {
		sign = -1
	}
	a, b := l.values[n.Inputs[0]], l.values[n.Inputs[1]]
	switch {
	case b == nil:
		l.addConstant(v, a, 1, n.Inputs[1], sign)
	case a == nil:
		l.addConstant(v, b, sign, n.Inputs[0], 1)
	default:
		if ra, fa, fb, ok := l.common(v, a, b); ok && (a.nonlinear() || b.nonlinear()) {
			v.fn = &function{name: n.Op.Kind(), base: ra, curve: both(fa, fb, func(a, b float64) float64 { return a + float64(sign*b) })}
			return
		}
		terms := []term{{a, l.broadcast(a, v.shape)}, {b, l.broadcast(b, v.shape)}}
		if sign < 0 {
			terms[1].e = terms[1].e.times(-1)
		}
		if frac, ok := l.stream[v.name]; ok {
			v.pending = l.sumOnScale(v, terms, frac)
			return
		}
		v.pending = l.align(terms, 0, v)
	}
}

// common reports whether a and b are functions of one value, entry by entry.
func (l *lowering) common(v, a, b *value) (base *value, fa, fb curve, ok bool) {
	if !slices.Equal(a.shape, v.shape) || !slices.Equal(b.shape, v.shape) {
		return nil, fa, fb, false
	}
	if a == b {
		// The value counts as used twice by this node alone.
		base, fa = l.root(a)
		return base, fa, fa, true
	}
	ra, fa := l.firstRoot(a)
	rb, fb := l.firstRoot(b)
	return ra, fa, fb, ra == rb
}

// firstRoot is root as often as it leads to an earlier value.
func (l *lowering) firstRoot(x *value) (*value, curve) {
	base, f := l.root(x)
	for {
		r, inner := l.root(base)
		if r == base {
			return base, f
		}
		base, f = r, inner.into(f)
	}
}

// broadcast returns the value as an expression of the given shape.
func (l *lowering) broadcast(x *value, shape []int) *expr {
	if slices.Equal(x.shape, shape) {
		return l.take(x)
	}
	return l.tensorExpr(l.tensor(x), broadcastView(x.shape, shape), shape)
}

// addConstant lowers v = xs·x + cs·constant, with signs xs and cs.
func (l *lowering) addConstant(v, x *value, xs float64, name string, cs float64) {
	if l.foldAdd(v, x, name) {
		return
	}
	t, part := l.whole(name)
	c, same := uniform(t)
	if same {
		c = float64(c * cs)
		if x.nonlinear() && slices.Equal(x.shape, v.shape) {
			base, f := l.root(x)
			v.fn = &function{name: l.node.Op.Kind(), base: base, curve: f.then(func(y float64) float64 { return float64(xs*y) + c })}
			return
		}
		if slices.Equal(x.shape, v.shape) {
			l.setAffine(v, x, xs, c)
		}
	}
	values := t.Float64s()
	if rng, ok := l.softenMask(v, values, x.rng); ok {
		v.rng = rng
	}
	most := 0.0
	for i := range values {
		values[i] *= cs
		most = math.Max(most, math.Abs(values[i]))
	}
	e := l.align([]term{{x, l.broadcast(x, v.shape).times(int64(xs))}}, most, v)
	e = l.refine(v, e, values, most, v.rng)
	v.pending = l.plusConstant(e, name, t.Shape, values, part)
}

// setAffine records v = mul·x + add.
func (l *lowering) setAffine(v, x *value, mul, add float64) {
	v.affine = &affine{x, mul, add}
	if a := x.affine; a != nil && x.uses == 1 {
		v.affine = &affine{a.of, mul * a.mul, float64(mul*a.add) + add}
	}
}

// refine scales e up, if it is too coarse to take in constants with the
// precision that the sum v will have.
func (l *lowering) refine(v *value, e *expr, values []float64, most float64, rng Range) *expr {
	exact := true
	for _, c := range values {
		if c *= pow2(e.frac); c != math.Trunc(c) {
			exact = false
			break
		}
	}
	widest := math.Max(rng.abs()*l.opts.Headroom, most)
	if exact || widest == 0 {
		return e
	}
	frac := floorLog2(pow2(max(l.plan.bits, min(l.opts.Formats[v.name].Bits, 24))+3) / widest)
	for frac > e.frac && !l.room((float64(float64(e.abs())*pow2(-e.frac))+most)*pow2(frac)) {
		frac--
	}
	if frac <= e.frac || frac-e.frac > 28 {
		return e
	}
	e = e.times(1 << (frac - e.frac))
	e = &expr{acc: e.acc, shape: e.shape, frac: frac, min: e.min, max: e.max}
	return e
}

// infinity is the least magnitude that stands for ∞ in masks alone.
const infinity = 1e29

// plusConstant adds constants, which broadcast to e's shape, at e's scale: or, if part
// is not nil, those of them that begin them and have that shape.
func (l *lowering) plusConstant(e *expr, name string, shape []int, values []float64, part []int) *expr {
	lo, hi, same := values[0], values[0], true
	for _, c := range values {
		lo, hi, same = math.Min(lo, c), math.Max(hi, c), same && c == values[0]
	}
	if same {
		c := &expr{shape: e.shape, frac: e.frac}
		c.acc.Const = int64(math.Round(lo * pow2(e.frac)))
		c.min, c.max = c.acc.Const, c.acc.Const
		return e.plus(c)
	}
	if magnitudeOf(values) >= infinity {
		refuse("constant %q has −∞, or a number that stands for it: such masks are supported where a Softmax follows", name)
	}
	id := l.constant(name, shape, values, e.frac)
	if part != nil {
		id, shape = l.begun(id, part), part
	}
	return e.plus(l.tensorExpr(id, broadcastView(shape, e.shape), e.shape))
}

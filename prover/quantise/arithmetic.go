package quantise

import (
	"math"

	"github.com/prove-model/prove-model/onnx"
	"github.com/prove-model/prove-model/prover/model"
)

// lowerAdd lowers Add and Sub: operands are brought to a common scale by
// powers of two and added in the accumulator.
func lowerAdd(l *lowering, n *onnx.Node, v *value) {
	sign := 1.0
	if n.Op == "Sub" {
		sign = -1
	}
	a, b := l.values[n.Inputs[0]], l.values[n.Inputs[1]]
	switch {
	case b == nil:
		l.addConstant(v, a, 1, n.Inputs[1], sign)
	case a == nil:
		l.addConstant(v, b, sign, n.Inputs[0], 1)
	default:
		if ra, fa, fb, ok := l.common(v, a, b); ok && (a.curved() || b.curved()) {
			v.fn = &function{name: n.Op, base: ra, real: func(t float64) float64 { return fa(t) + sign*fb(t) }}
			return
		}
		terms := []term{{a, l.broadcast(a, v.shape)}, {b, l.broadcast(b, v.shape)}}
		if sign < 0 {
			terms[1].e = terms[1].e.times(-1)
		}
		v.pending = l.align(terms, 0, v.rng)
	}
}

// common reports whether a and b are functions of one value, entry by entry.
func (l *lowering) common(v, a, b *value) (base *value, fa, fb func(float64) float64, ok bool) {
	if !sameShape(a.shape, v.shape) || !sameShape(b.shape, v.shape) {
		return nil, nil, nil, false
	}
	if a == b {
		// The value counts as used twice by this node alone.
		base, fa = l.root(a)
		return base, fa, fa, true
	}
	ra, fa := l.root(a)
	rb, fb := l.root(b)
	return ra, fa, fb, ra == rb
}

// broadcast returns the value as an expression of the given shape.
func (l *lowering) broadcast(x *value, shape []int) *expr {
	if sameShape(x.shape, shape) {
		return l.take(x)
	}
	return l.tensorExpr(l.tensor(x), broadcastView(x.shape, shape), shape)
}

// addConstant lowers v = xs·x + cs·constant, with signs xs and cs.
func (l *lowering) addConstant(v, x *value, xs float64, name string, cs float64) {
	t := l.fg.Consts[name]
	c, same := uniform(t)
	if same {
		c *= cs
		if x.curved() && sameShape(x.shape, v.shape) {
			base, f := l.root(x)
			v.fn = &function{name: l.node.Op, base: base, real: func(t float64) float64 { return xs*f(t) + c }}
			return
		}
		if sameShape(x.shape, v.shape) {
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
	e := l.align([]term{{x, l.broadcast(x, v.shape).times(int64(xs))}}, most, v.rng)
	e = l.refine(e, values, most, v.rng)
	v.pending = l.plusConstant(e, name, t.Shape, values)
}

// setAffine records v = mul·x + add.
func (l *lowering) setAffine(v, x *value, mul, add float64) {
	v.affine = &affine{x, mul, add}
	if a := x.affine; a != nil && x.uses == 1 {
		v.affine = &affine{a.of, mul * a.mul, mul*a.add + add}
	}
}

// refine scales e up, if it is too coarse to take in constants with the
// precision that the sum will have.
func (l *lowering) refine(e *expr, values []float64, most float64, rng Range) *expr {
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
	frac := floorLog2(pow2(l.plan.bits+3) / widest)
	for frac > e.frac && !l.room((float64(e.abs())*pow2(-e.frac)+most)*pow2(frac)) {
		frac--
	}
	if frac <= e.frac || frac-e.frac > 28 {
		return e
	}
	e = e.times(1 << (frac - e.frac))
	e = &expr{acc: e.acc, shape: e.shape, frac: frac, min: e.min, max: e.max}
	return e
}

// plusConstant adds constants, which broadcast to e's shape, at e's scale.
func (l *lowering) plusConstant(e *expr, name string, shape []int, values []float64) *expr {
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
	id := l.constant(name, shape, values, e.frac)
	return e.plus(l.tensorExpr(id, broadcastView(shape, e.shape), e.shape))
}

// softenMask replaces the huge negative entries with which models mask scores
// before a Softmax by ones that are just far enough below the others, so that
// they do not set the scale: 10 below the least score, e^−10 of its weight. It
// returns the range that the masked scores v should have; below it they are
// clamped, which says nothing.
func (l *lowering) softenMask(v *value, values []float64, scores Range) (Range, bool) {
	c := l.consumer(v)
	if c == nil || c.Op != "Softmax" {
		return Range{}, false
	}
	const below = 10
	widest := scores.abs()
	floor := -2*widest - below
	changed := false
	for i, x := range values {
		if x < 4*floor {
			values[i], changed = floor, true
		}
	}
	if !changed {
		return Range{}, false
	}
	v.quiet = true
	widest = math.Max(widest, (widest+below)/l.opts.Headroom)
	return Range{Min: -widest, Max: widest}, true
}

// consumer returns the one node that reads the value; nil if there are more.
func (l *lowering) consumer(v *value) *onnx.Node {
	if v.uses != 1 {
		return nil
	}
	for _, n := range l.fg.Nodes {
		for _, in := range n.Inputs {
			if in == v.name {
				return n
			}
		}
	}
	return nil
}

// lowerMul lowers Mul: by a constant as a change of scale or a product with
// weights, of two computed values as an element-wise product.
func lowerMul(l *lowering, n *onnx.Node, v *value) {
	a, b := l.values[n.Inputs[0]], l.values[n.Inputs[1]]
	switch {
	case b == nil:
		l.mulConstant(v, a, n.Inputs[1], l.fg.Consts[n.Inputs[1]])
	case a == nil:
		l.mulConstant(v, b, n.Inputs[0], l.fg.Consts[n.Inputs[0]])
	default:
		if base, fa, fb, ok := l.common(v, a, b); ok {
			v.fn = &function{name: n.Op, base: base, real: func(t float64) float64 { return fa(t) * fb(t) }}
			return
		}
		v.pending = l.elementwise(v.shape, a, b)
	}
}

func lowerNeg(l *lowering, n *onnx.Node, v *value) { l.mulScalar(v, l.values[n.Inputs[0]], -1) }

// mulConstant lowers v = x·t.
func (l *lowering) mulConstant(v, x *value, name string, t *onnx.Tensor) {
	if c, same := uniform(t); same {
		l.mulScalar(v, x, c)
		return
	}
	labels, shape := broadcastLabels(t.Shape, v.shape)
	l.weighted(v, x, weighting{
		name: name, t: t, shape: shape, labels: labels, channels: t.Len(), inner: 1, count: 1,
		out: v.shape, operand: func(id model.TensorID) (model.TensorID, []int) { return l.squeezed(id, v.shape) },
	})
}

// mulScalar lowers v = x·c.
func (l *lowering) mulScalar(v, x *value, c float64) {
	same := model.Size(x.shape) == model.Size(v.shape)
	if x.curved() && same {
		base, f := l.root(x)
		v.fn = &function{name: "Mul", base: base, real: func(t float64) float64 { return c * f(t) }}
		return
	}
	if !same {
		v.pending = l.scale(x, l.broadcast(x, v.shape), c, v.rng)
		return
	}
	l.setAffine(v, x, c, 0)
	v.pending = l.scale(x, l.takeFlat(x), c, v.rng)
}

// scale returns e·c for a real number c. A power of two only changes the
// scale; anything else becomes an integer coefficient with a precision of up to
// 15 bits and at least 10, for which e is rounded first if there is no room.
// e stands for the value x, and rng is the product's calibrated range.
func (l *lowering) scale(x *value, e *expr, c float64, rng Range) *expr {
	if c == 0 {
		return &expr{shape: e.shape, frac: e.frac}
	}
	const least, most = 1 << 9, 1 << 15
	coef := func(s int) int64 { return int64(math.Round(c * pow2(s))) }
	s := floorLog2(most / math.Abs(c))
	if m := coef(s); m&(m-1) != 0 && -m&(-m-1) != 0 {
		// Not finer than rounding makes use of, if that is fine enough.
		if r := rng.abs() * l.opts.Headroom; r > 0 {
			usable := l.plan.shift() + floorLog2(float64(int64(1)<<l.plan.bits-1)/r) - e.frac
			for s > usable && math.Abs(float64(coef(s-1))) > least {
				s--
			}
		}
	}
	for {
		m, t := coef(s), s
		for m&1 == 0 && m != 0 {
			m, t = m/2, t-1
		}
		if l.room(float64(e.abs()) * math.Abs(float64(m))) {
			out := e.times(m)
			return &expr{acc: out.acc, shape: out.shape, frac: e.frac + t, min: out.min, max: out.max}
		}
		if m = coef(s - 1); m > -least && m < least {
			break
		}
		s--
	}
	if e.linear() && len(e.acc.Linear) <= 1 && e.abs() <= 1<<l.plan.bits {
		refuse("no room to multiply by %g", c)
	}
	id := l.round(x.name, e, x.rng, l.plan.bits, wholeLine)
	return l.scale(x, l.tensorExpr(id, nil, e.shape), c, rng)
}

// elementwise is the product of two computed values, with broadcasting.
func (l *lowering) elementwise(shape []int, a, b *value) *expr {
	ida, idb := l.fitProduct(a, b, contraction{count: 1})
	ida, la := l.squeezed(ida, shape)
	idb, lb := l.squeezed(idb, shape)
	return l.product(shape, ida, la, idb, lb, 1)
}

// contraction tells what a product sums over: count entries, which are the
// last axis of A or B if so marked.
type contraction struct {
	count        int
	lastA, lastB bool
}

// reach bounds a sum of products.
func (l *lowering) reach(a, b model.TensorID, c contraction) float64 {
	ma, mb := float64(l.magnitude(a)), float64(l.magnitude(b))
	most := ma * mb * float64(c.count)
	if s, ok := l.rowSums[a]; ok && c.lastA {
		most = math.Min(most, float64(s)*mb)
	}
	if s, ok := l.rowSums[b]; ok && c.lastB {
		most = math.Min(most, float64(s)*ma)
	}
	return most
}

// fitProduct returns tensors of a and b so that a sum of products fits the
// accumulator, rounding the wider one as often as that takes.
func (l *lowering) fitProduct(a, b *value, c contraction) (model.TensorID, model.TensorID) {
	ida, idb := l.tightened(a), l.tightened(b)
	for {
		over := math.Log2(l.reach(ida, idb, c) / float64(l.plan.limit()))
		if over <= 0 {
			return ida, idb
		}
		wide, v := &ida, a
		if l.magnitude(idb) > l.magnitude(ida) {
			wide, v = &idb, b
		}
		// Share the loss between the two.
		bits := model.Log2Ceil(int(l.magnitude(*wide))) - max(1, int(math.Ceil(over/2)))
		if bits < 4 {
			refuse("a sum of %d products does not fit in 30 bits with at least 4 bits a factor", c.count)
		}
		*wide = l.narrowed(v, bits)
	}
}

// product is Σ a·b over the labels that the output does not have, of which
// there are count combinations.
func (l *lowering) product(shape []int, a model.TensorID, la []int, b model.TensorID, lb []int, count int) *expr {
	ta, tb := &l.g.Tensors[a], &l.g.Tensors[b]
	e := &expr{shape: shape, frac: ta.Frac + tb.Frac}
	e.min = min(ta.Min*tb.Min, ta.Min*tb.Max, ta.Max*tb.Min, ta.Max*tb.Max) * int64(count)
	e.max = max(ta.Min*tb.Min, ta.Min*tb.Max, ta.Max*tb.Min, ta.Max*tb.Max) * int64(count)
	e.acc.Products = []model.Product{{Coef: 1, A: a, B: b, LabelsA: la, LabelsB: lb}}
	return e
}

// broadcastLabels gives the labels of an operand that broadcasts to out, and
// its shape without the axes that do (a product has no label for those).
func broadcastLabels(shape, out []int) (labels, kept []int) {
	skip := len(out) - len(shape)
	for i, d := range shape {
		if d == out[i+skip] {
			labels = append(labels, i+skip)
			kept = append(kept, d)
		}
	}
	return labels, kept
}

// squeezed returns a tensor without the axes that broadcast to shape, and its
// labels.
func (l *lowering) squeezed(id model.TensorID, shape []int) (model.TensorID, []int) {
	t := l.g.Tensors[id]
	labels, kept := broadcastLabels(t.Shape, shape)
	if len(kept) == len(t.Shape) {
		return id, labels
	}
	return l.virtual(t.Name, kept, []model.Linear{{Coef: 1, Src: id, View: reshapeView(t.Shape, kept)}}, t.Frac), labels
}

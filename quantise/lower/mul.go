package lower

import (
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

// mulConstant lowers v = x·t for the constant t with the given name. If part is not nil, it multiplies with the leading block of t
// that has the shape part. A constant whose entries are all the same changes the scale (mulScalar); any other is a product with weights.
func (l *lowering) mulConstant(v, x *value, name string, t *graph.Tensor, part []int) {
	numbers := l.numbersOf(t)
	c, same := numbers.same()
	// Numbers of 10^4 or more are refused if they are a mask: infinities, or one float that multiplies truth values. Lists of
	// such numbers, and whole ones, may be labels.
	truth := func() bool {
		t := &l.Circuit.Tensors[l.tensor(x)]
		return t.Frac == 0 && t.Min >= 0 && t.Max <= 1
	}
	if most := numbers.most(); most >= leastMask && (most >= infinity || same && t.DType.IsFloat() && truth()) {
		refuse.With("a mask of %.3g that is not before a Softmax: beside such a number nothing else keeps its precision", most)
	}
	if same {
		l.mulScalar(v, x, c)
		return
	}
	if l.foldMul(v, x, name, t) {
		return
	}
	shape := t.Shape
	if part != nil {
		shape = part
	}
	labels, kept := fixed.BroadcastLabels(shape, v.shape)
	w := weighting{
		name: name, t: l.constant(t), shape: kept, labels: labels, channels: t.Len(), inner: 1, count: 1,
		out: v.shape, operand: func(id model.TensorID) (model.TensorID, []int) { return l.Squeezed(id, v.shape) },
	}
	if part != nil {
		// One channel, and so one scale, for all entries: t may have one for every token and element.
		w.channels, w.inner, w.shape, w.part = 1, t.Len(), nil, kept
		for _, axis := range labels {
			w.shape = append(w.shape, t.Shape[axis-len(v.shape)+len(t.Shape)])
		}
	}
	l.weighted(v, x, w)
}

// leastMask is the least magnitude of the numbers with which models mask scores (graph.Builder.Where).
const leastMask = 1e4

// mulScalar lowers v = x·c for a number c. x may broadcast to v's shape.
func (l *lowering) mulScalar(v, x *value, c float64) {
	same := model.Size(x.shape) == model.Size(v.shape)
	if x.nonlinear() && same {
		v.apply(x, "Mul", curve{at: func(y float64) float64 { return c * y }, key: keyOf("times", c)})
		return
	}
	if !same {
		v.acc = l.scale(x, l.broadcast(x, v.shape), c, v.rng)
		return
	}
	l.setAffine(v, x, c, 0)
	v.acc = l.scaleTo(v, x, l.operandFlat(x), c)
}

// scale returns e·c for a real number c. e stands for the value x, and rng is the product's calibrated range. A power
// of two only changes the scale. Any other c becomes an integer coefficient round(c·2^s) of up to 2^15 and at least about
// 2^9. If there is no room for that, e is rounded first.
func (l *lowering) scale(x *value, e *fixed.Int, c float64, rng Range) *fixed.Int {
	if c == 0 {
		return &fixed.Int{Shape: e.Shape, Frac: e.Frac}
	}
	const least, most = 1 << 9, 1 << 15
	coef := func(s int) int64 { return int64(math.Round(c * fixed.Pow2(s))) }
	s := fixed.FloorLog2(most / math.Abs(c))
	if m := coef(s); m&(m-1) != 0 && -m&(-m-1) != 0 {
		// c is no power of two. The coefficient need not be finer than rounding with the shared shift makes use of, unless that
		// is below 2^9.
		if r := l.reachOf(rng); r > 0 {
			usable := l.Plan.Shift() + scaleOf(l.Plan.Bits, r) - e.Frac
			for s > usable && math.Abs(float64(coef(s-1))) > least {
				s--
			}
		}
	}
	for {
		m, t := coef(s), s
		for m&1 == 0 && m != 0 { // factors of two only change the scale
			m, t = m/2, t-1
		}
		// With a coefficient of ±1 the accumulator is no larger than e and needs no more room.
		if same := m == 1 || m == -1; same && e.Abs() <= l.formatLimit() || l.Room(float64(e.Abs())*math.Abs(float64(m))) {
			out := e.Times(m)
			return &fixed.Int{Acc: out.Acc, Shape: out.Shape, Frac: e.Frac + t, Min: out.Min, Max: out.Max}
		}
		if m = coef(s - 1); m > -least && m < least {
			break
		}
		s--
	}
	if e.Linear() && len(e.Acc.Linear) <= 1 && e.Abs() <= 1<<max(l.Plan.Bits, l.narrowBitsOf(x)) {
		refuse.With("no room to multiply by %g", c)
	}
	return l.scale(x, l.roundTerm(x, e), c, rng)
}

// scaleTo is scale for the product v = x·c. If v has a format of more than LimbedBits (finestOf) and c is no power of two, e
// is multiplied in limbs, which leaves more bits for the coefficient.
func (l *lowering) scaleTo(v, x *value, e *fixed.Int, c float64) *fixed.Int {
	if m, _ := math.Frexp(math.Abs(c)); !l.finestOf(v) || c == 0 || m == 0.5 {
		return l.scale(x, e, c, v.rng)
	}
	id := l.roundFormat(x, e, x.rng, l.formatted(v), fixed.WholeLine)
	if l.Magnitude(id) < 1<<fixed.NarrowBits {
		return l.scale(x, l.Of(id), c, v.rng)
	}
	p := l.SplitMoved(id)
	s := fixed.FloorLog2(float64(model.Bound/4) / float64(max(l.Magnitude(p.High), 1<<p.Bits)) / math.Abs(c))
	m := int64(math.Round(c * fixed.Pow2(s)))
	return l.inLimbs(v, p, func(limb model.TensorID) *fixed.Int { return l.Of(limb).Times(m).On(l.Circuit.Tensors[limb].Frac + s) })
}

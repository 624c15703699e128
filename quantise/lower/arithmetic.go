package lower

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

func init() {
	register(lowerArithmetic, func(op graph.Arithmetic) Traits {
		sum := op == graph.Add || op == graph.Sub
		return Traits{Sums: sum, linear: sum || op == graph.Mul, PerEntry: true, broadcasts: allBroadcast}
	})
}

// allBroadcast says that all operands may have the dimension 1 in place of a longer axis.
func allBroadcast(operand, axis, rank int) bool { return true }

// lowerArithmetic lowers the four operators on two values.
func lowerArithmetic(l *lowering, op graph.Arithmetic, v *value, in []*value) {
	refuse.If(op > graph.Div, "operator not supported")
	a, b, sums := in[0], in[1], TraitsOf(op).Sums
	exact := l.integers(v.name) && op != graph.Div
	// Two functions of one value are one function of it; but a sum of affine ones stays an accumulator.
	if a != nil && b != nil && !exact {
		if base, fa, fb, ok := common(v, a, b); ok && (!sums || a.nonlinear() || b.nonlinear()) {
			v.fn = &function{name: graph.Kind(op), base: base, curve: both(fa, fb, graph.Kind(op), op.Of())}
			return
		}
	}
	x, name := a, "" // the operand beside a constant, and its name
	if b == nil {
		name = v.node.Inputs[1]
	} else if a == nil {
		x, name = b, v.node.Inputs[0]
	}
	switch {
	case sums:
		l.add(op, v, a, b)
	case exact && name != "":
		l.integerMultiple(v, x, name)
	case exact:
		l.integerProduct(v, a, b)
	case op == graph.Div:
		l.divide(v, a, b)
	case name != "":
		t, part := l.whole(name)
		l.mulConstant(v, x, name, t, part)
	default:
		v.acc = l.elementwise(v, a, b)
	}
}

// term is an operand of a sum: an expression e and the value v that it stands for.
type term struct {
	v *value
	e *fixed.Int
}

// align brings the terms of the sum v to the scale of the finest of them and adds them, leaving room for a
// constant of real magnitude extra. While the accumulator would be too wide for v to be rounded
// from it, the finest term is rounded first.
func (l *lowering) align(terms []term, extra float64, v *value) *fixed.Int {
	if l.integers(v.name) { // all terms are on scale 0
		sum := &fixed.Int{Shape: terms[0].e.Shape}
		for _, t := range terms {
			sum = sum.Plus(t.e)
		}
		return sum
	}
	for {
		frac := math.MinInt32
		for _, t := range terms {
			if t.e.Abs() != 0 {
				frac = max(frac, t.e.Frac)
			}
		}
		if frac == math.MinInt32 {
			frac = terms[0].e.Frac
		}
		total := extra * fixed.Pow2(frac)
		for _, t := range terms {
			total += float64(float64(t.e.Abs()) * fixed.Pow2(frac-t.e.Frac))
		}
		if total <= float64(l.limitOf(v)) {
			sum := &fixed.Int{Shape: terms[0].e.Shape, Frac: frac}
			for _, t := range terms {
				c := int64(1)
				if t.e.Abs() != 0 {
					c = 1 << (frac - t.e.Frac)
				}
				sum = sum.Plus(t.e.Times(c))
			}
			return sum
		}
		// The term to round is the finest, and of equals the widest: first to a tensor of its own. If that is no
		// coarser, then to a scale on which the sum's range is at most a sixteenth of the limit.
		t := &terms[0]
		for i := range terms {
			if e := terms[i].e; e.Frac > t.e.Frac || e.Frac == t.e.Frac && e.Abs() > t.e.Abs() {
				t = &terms[i]
			}
		}
		was := t.e
		if !was.Linear() || len(was.Acc.Linear) > 1 {
			t.e = l.roundTerm(t.v, was)
		}
		if t.e.Frac >= was.Frac {
			widest := math.Max(math.Max(l.reachOf(v.rng), extra), fixed.Pow2(-40))
			target := min(fixed.FloorLog2(float64(l.Plan.Limit())/widest/16), was.Frac-1)
			t.e = l.Of(l.RoundTo(t.v.name, was, target))
		}
		if t.e.Frac >= was.Frac && t.e.Abs() >= was.Abs() {
			refuse.With("operands of too different scales: the sum does not fit in 30 bits")
		}
	}
}

// roundTerm rounds e, which stands for x as a term of a sum or as the factor of a number, to the bits of x's
// format, NarrowBits at most, or else to the bits that all values share.
func (l *lowering) roundTerm(x *value, e *fixed.Int) *fixed.Int {
	return l.Of(l.roundValue(x, e, x.rng, min(l.formatted(x), fixed.NarrowBits), l.Plan.Bits, fixed.WholeLine))
}

// add lowers Add and Sub: the operands are brought to a common scale by multiplying them with
// powers of two, and added in the accumulator. Integers are all on scale 0; their operands are clamped nearer to their
// calibrated ranges where the sum could reach 2^29.
func (l *lowering) add(op graph.Arithmetic, v, a, b *value) {
	sign := 1.0
	if op == graph.Sub {
		sign = -1
	}
	switch {
	case b == nil:
		l.addConstant(v, a, 1, v.node.Inputs[1], sign)
		return
	case a == nil:
		l.addConstant(v, b, sign, v.node.Inputs[0], 1)
		return
	}
	terms := []term{{a, l.broadcast(a, v.shape)}, {b, l.broadcast(b, v.shape).Times(int64(sign))}}
	if frac, ok := l.stream[v.name]; ok { // a product, or a term finer than the stream, is rounded to the stream's scale
		for i := range terms {
			if t := &terms[i]; !t.e.Linear() || t.e.Frac > frac {
				t.e = l.Of(l.roundAt(t.v, t.e, frac))
			}
		}
	}
	if v.acc = l.align(terms, 0, v); l.integers(v.name) && v.acc.Abs() >= model.Bound/2 {
		ids := l.fitIntegers([]*value{a, b}, func(s []float64) float64 { return s[0] + s[1] })
		v.acc = l.broadcastOf(ids[0], v.shape).Plus(l.broadcastOf(ids[1], v.shape).Times(int64(sign)))
	}
}

// common reports whether a and b are functions of one value, entry by entry: fa and fb of base. v, their result, has
// to have the shape of both.
func common(v, a, b *value) (base *value, fa, fb curve, ok bool) {
	if !slices.Equal(a.shape, v.shape) || !slices.Equal(b.shape, v.shape) {
		return nil, fa, fb, false
	}
	base, fa = a.firstRoot()
	other, fb := b.firstRoot()
	return base, fa, fb, base == other
}

// firstRoot follows root to the first value, which is a function of no earlier one, and composes the functions.
func (x *value) firstRoot() (*value, curve) {
	base, f := x.root()
	if base == x {
		return x, f
	}
	first, inner := base.firstRoot()
	return first, inner.then(f)
}

// broadcast returns the value as an expression of the given shape, to which it broadcasts. A value of an integer type is on
// scale 0.
func (l *lowering) broadcast(x *value, shape []int) *fixed.Int {
	if x.acc != nil && x.acc.Frac != 0 && l.integers(x.name) {
		l.tensor(x)
	}
	if slices.Equal(x.shape, shape) {
		return l.operand(x)
	}
	return l.broadcastOf(l.tensor(x), shape)
}

// broadcastOf is a tensor as an expression of a shape to which it broadcasts.
func (l *lowering) broadcastOf(id model.TensorID, shape []int) *fixed.Int {
	return l.View(id, fixed.BroadcastView(l.Circuit.Tensors[id].Shape, shape), shape)
}

// addConstant lowers v = xs·x + cs·constant, xs and cs being 1 or −1 and name that of the constant.
func (l *lowering) addConstant(v, x *value, xs float64, name string, cs float64) {
	if l.integers(v.name) {
		t, part := l.whole(name)
		values := numbers{shown: l.wholeConstant(name)}.times(cs)
		v.acc = l.plusConstant(l.broadcast(x, v.shape).Times(int64(xs)), name, t.Shape, values, part)
		return
	}
	if c := x.channels; c != nil { // x is of·mul (foldMul), and this constant the shift that follows
		v.channels = &perChannel{c.of, c.mul, name}
		return
	}
	t, part := l.whole(name)
	values := l.numbersOf(t)
	c, same := values.same()
	if same {
		c = float64(c * cs)
		if x.nonlinear() && slices.Equal(x.shape, v.shape) {
			plus := curve{at: func(y float64) float64 { return float64(xs*y) + c }, key: keyOf("affine", xs, c)}
			v.apply(x, graph.Kind(l.node.Op), plus)
			return
		}
		if slices.Equal(x.shape, v.shape) {
			l.setAffine(v, x, xs, c)
		}
	}
	values = l.softenMask(v, values.times(cs), x.rng)
	most := values.most()
	e := l.align([]term{{x, l.broadcast(x, v.shape).Times(int64(xs))}}, most, v)
	e = l.refine(v, e, values, most, v.rng)
	v.acc = l.plusConstant(e, name, t.Shape, values, part)
}

// setAffine records v = mul·x + add, as a function of an earlier value if x is affine itself and nothing else reads it.
func (l *lowering) setAffine(v, x *value, mul, add float64) {
	v.affine = &affine{x, mul, add}
	if a := x.affine; a != nil && x.uses == 1 {
		v.affine = &affine{a.of, mul * a.mul, float64(mul*a.add) + add}
	}
}

// refine scales e up if it is too coarse to take in the constants values, of magnitudes up to most, with the
// precision that the sum v will have. rng is the range that sets the sum's scale. Constants that are whole on e's scale
// need no finer one.
func (l *lowering) refine(v *value, e *fixed.Int, values numbers, most float64, rng Range) *fixed.Int {
	exact := !values.isSecret() && !slices.ContainsFunc(values.shown, func(c float64) bool {
		c *= fixed.Pow2(e.Frac)
		return c != math.Trunc(c)
	})
	widest := math.Max(l.reachOf(rng), most)
	if exact || widest == 0 {
		return e
	}
	// Three bits more than the sum will have, as far as the accumulator has room.
	frac := fixed.FloorLog2(fixed.Pow2(max(l.Plan.Bits, min(l.opts.Formats[v.name].Bits, 24))+3) / widest)
	for frac > e.Frac && !l.Room((float64(float64(e.Abs())*fixed.Pow2(-e.Frac))+most)*fixed.Pow2(frac)) {
		frac--
	}
	if frac <= e.Frac || frac-e.Frac > 28 {
		return e
	}
	return e.Finer(frac - e.Frac)
}

// infinity is the magnitude from which on a number is no ordinary one, but stands for ∞ in a mask.
const infinity = 1e29

// plusConstant adds constants of a shape, which broadcasts to e's, rounded to e's scale. If part is not nil, it adds
// only their leading block of the shape part (begun).
func (l *lowering) plusConstant(e *fixed.Int, name string, shape []int, values numbers, part []int) *fixed.Int {
	if one, same := values.same(); same {
		return e.PlusConst(int64(math.Round(one * fixed.Pow2(e.Frac))))
	}
	if values.most() >= infinity {
		refuse.With("constant %q has −∞, or a number that stands for it: such masks are supported where a Softmax follows", name)
	}
	id := l.constantOf(name, shape, values, e.Frac)
	if part != nil {
		id, shape = l.begun(id, part), part
	}
	return e.Plus(l.View(id, fixed.BroadcastView(shape, e.Shape), e.Shape))
}

package quantise

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// quotient is a division num/den of integers, entry by entry, to be rounded:
// q = ⌊(2·2^shift·num + den)/(2·den)⌋.
type quotient struct {
	name  string
	shape []int
	num   *expr // of the quotient's shape
	shift int
	// den is positive: as a tensor that broadcasts by the labels, and as a
	// view of the quotient's shape of that tensor (nil: as it is).
	den    model.TensorID
	labels []int
	view   *model.View
	// keys is the table that q is looked up in, from first on, and its size in
	// bits: this bounds q.
	keys  model.TableID
	first int64
	bits  int
	// out is where the look-up's values go.
	out model.TensorID
	// saturated are the rows of keys where it clamps.
	saturated []model.Rows
}

// divide adds the steps of a quotient and returns the tensor q.
//
// The quotient and the remainder r are the prover's choice; what forces them is
// 2^(shift+1)·num + den = 2·den·q + r over the integers with 0 ≤ r < 2·den. The
// steps that state this are model.Division's; here their sizes are chosen, so
// that neither side of the equation wraps.
func (l *builder) divide(d quotient) model.TensorID {
	den := l.g.Tensors[d.den]
	if den.Min < 1 {
		refuse("a divisor may be %d", den.Min)
	}
	denOf := func(c int64) model.Linear { return model.Linear{Coef: c, Src: d.den, View: d.view} }
	num := d.num.times(2 << d.shift).plus(&expr{acc: model.Acc{Linear: []model.Linear{denOf(1)}}, min: den.Min, max: den.Max})
	num.shape = d.shape
	last := d.first + int64(1)<<d.bits - 1
	bits := model.Log2Ceil(int(2 * den.Max))
	if spread := 2 * float64(den.Max) * math.Max(math.Abs(float64(d.first)), float64(last+1)); num.abs() >= model.Bound || spread >= model.Bound || bits+d.bits > 30 {
		refuse("a division of up to %d by up to %d does not fit in 30 bits", num.abs(), den.Max)
	}
	// Honest quotients are within the table.
	for _, n := range []int64{num.min, num.max} {
		for _, by := range []int64{den.Min, den.Max} {
			if q := floorDiv(n, 2*by); q < d.first || q > last {
				refuse("a quotient may be %d, outside of [%d, %d]", q, d.first, last)
			}
		}
	}
	double := l.virtual("divisor", d.shape, []model.Linear{denOf(2)}, den.Frac)
	q := l.witness(d.name, d.shape, 0, d.first, last)
	l.division(num.acc, double, q, 2*den.Max-1)

	l.saturates(d.saturated)
	l.lookup(l.tensorExpr(q, nil, d.shape), 0, d.keys, d.out)
	return q
}

// division adds the step q = ⌊acc/den⌋ with a remainder of at most most, and the
// steps that constrain it but for a look-up of q. It returns the remainder.
func (l *builder) division(acc model.Acc, den, q model.TensorID, most int64) *expr {
	shape := l.g.Tensors[den].Shape
	r := l.witness("remainder", shape, 0, 0, most)
	step := model.Step{Kind: model.StepDivide, Name: l.name, Shape: shape, Acc: acc, Lo: r, Table: model.None, Out: q, Den: den}
	d := l.g.Division(&step)
	zero := step
	zero.Kind, zero.Acc, zero.Lo, zero.Out, zero.Den = model.StepZero, d.Equation, model.None, model.None, model.None
	l.g.Steps = append(l.g.Steps, step, zero)
	bits := model.Log2Ceil(int(most) + 1)
	l.inRange(l.tensorExpr(r, nil, shape), bits)
	l.inRange(&expr{shape: shape, acc: d.Below, min: 0, max: most}, bits)
	return l.tensorExpr(r, nil, shape)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// lowerDiv lowers Div. Division by a constant is multiplication; by a function
// of an earlier value, multiplication with the table of its reciprocal; by any
// other computed value, a proved division with remainder.
func lowerDiv(l *lowering, n *graph.Node, _ graph.Arithmetic, v *value) {
	a, b := l.values[n.Inputs[0]], l.values[n.Inputs[1]]
	if b == nil {
		l.divByConstant(v, a, n.Inputs[1])
		return
	}
	if a == nil {
		t := l.fg.Consts[n.Inputs[0]]
		if c, same := uniform(t); same && slices.Equal(b.shape, v.shape) {
			l.apply(v, b, "Div", curve{at: func(x float64) float64 { return c / x }}, nil)
			return
		}
		a = l.constantValue(n.Inputs[0], t)
	} else if base, fa, fb, ok := l.common(v, a, b); ok {
		v.fn = &function{name: "Div", base: base, curve: both(fa, fb, func(a, b float64) float64 { return a / b })}
		return
	}
	switch {
	case b.nonlinear():
		ida := l.tightened(a)
		l.mulReciprocal(v, a, b, floorLog2(float64(l.plan.limit())/float64(l.magnitude(ida)))-1)
	case l.formatted(v) > 0 && l.fewDivisors(v, b):
		l.mulReciprocal(v, a, b, fewBits)
	default:
		l.divComputed(v, a, b)
	}
}

// fewBits are those of the reciprocals of a few divisors: the numerators have as many.
const fewBits = 14

// fewDivisors reports whether a value is many quotients by each of a few divisors, none
// of which calibration found to be near 0 beside the others: then a table of reciprocals
// costs less than divisions, and is as exact.
func (l *lowering) fewDivisors(v, b *value) bool {
	return 64*l.entries(b.shape) <= l.entries(v.shape) && b.rng.Least > 0 && b.rng.abs() <= 16*b.rng.Least && (b.rng.Min > 0 || b.rng.Max < 0)
}

// constantValue makes a constant an operand like a computed one.
func (l *lowering) constantValue(name string, t *graph.Tensor) *value {
	values := t.Float64s()
	r := Ranges(map[string][]float64{name: values})[name]
	frac := 0
	if r.abs() > 0 {
		frac = floorLog2(float64(int64(1)<<l.plan.bits-1) / r.abs())
	}
	id := l.constant(name, t.Shape, values, frac)
	return &value{name: name, shape: t.Shape, rng: r, id: id, shaped: id}
}

func (l *lowering) divByConstant(v, a *value, name string) {
	t, part := l.whole(name)
	inverse := make([]float32, t.Len())
	for i := range inverse {
		if t.At(i) == 0 {
			refuse("division by the constant 0")
		}
		inverse[i] = float32(1 / t.At(i))
	}
	if _, same := uniform(t); same {
		l.mulScalar(v, a, 1/t.At(0))
		return
	}
	l.mulConstant(v, a, "1/"+name, &graph.Tensor{Shape: t.Shape, DType: graph.Float, F32: inverse}, part)
}

// mulReciprocal lowers a/b as a times the table of 1/b, whose values may be
// finer than other activations, of up to 16 bits.
func (l *lowering) mulReciprocal(v, a, b *value, bits int) {
	base, f := l.root(b)
	r := &value{name: "1/" + b.name, shape: b.shape, uses: 1, id: model.None, shaped: model.None}
	// The calibrated range of the reciprocal.
	if least := b.rng.Least; least > 0 {
		r.rng = Range{Min: 1 / b.rng.abs(), Max: 1 / least}
	}
	name := "reciprocal"
	if b.fn != nil {
		name = "1/" + b.fn.name
	}
	r.fn = &function{name: name, base: base, curve: f.then(func(y float64) float64 { return 1 / y })}
	r.id = l.tableFunction(r, max(min(bits, 16), 4))
	v.pending = l.elementwise(v, a, r)
}

// divComputed lowers a/b with a proved remainder. A divisor of both signs is
// split into sign and magnitude, each the value of a look-up.
func (l *lowering) divComputed(v, a, b *value) {
	bits := l.plan.bits
	top := int64(1)<<bits - 1
	// |b| by a look-up whose clamp keeps it away from zero.
	id := l.tensor(b)
	scale := func() int {
		frac := l.g.Tensors[id].Frac
		if r := b.rng.abs() * l.opts.Headroom; r > 0 {
			frac = min(frac, floorLog2(float64(top)/r))
		}
		return frac
	}
	frac := scale()
	if e := l.tensorExpr(id, nil, b.shape); tableBits(keys(e, frac)) > l.tableFor(e, frac) { // it is clamped first
		id = l.narrowed(b, bits)
		frac = scale()
	}
	tb := l.g.Tensors[id]
	lo := max(1, int64(math.Floor(b.rng.Least/l.opts.Headroom*pow2(frac))))
	magnitude := l.witness("magnitude of "+b.name, b.shape, frac, lo, top)
	divisor := l.tensorExpr(id, nil, b.shape)
	magnitudes := l.piecewiseOf(absolute, lo, top, l.tableFor(divisor, frac))
	l.clamped(magnitudes, absolute, lo, top, true, true)
	l.lookup(divisor, frac, magnitudes, magnitude)
	// The quotient's keys: as many as the model's table has, if the product
	// with twice the divisor fits.
	table := min(l.plan.tableBits, 30-(bits+1))
	fits := func(magnitude int64, shift int) bool {
		num := float64(pow2(shift+1)*float64(magnitude)) + float64(top)
		return num < model.Bound && pow2(shift)*float64(magnitude)/float64(lo)+2 <= pow2(table-1)
	}
	numBits := bits
	for !fits(int64(1)<<numBits, 0) {
		if numBits--; numBits < 4 {
			refuse("the quotients' range cannot be held in 30 bits")
		}
	}
	num := l.narrowed(a, numBits)
	tn := l.g.Tensors[num]
	// The scale of the quotient: what its calibrated range asks for, if the
	// bounds allow it.
	want := 29 - model.Log2Ceil(int(l.magnitude(num)))
	if r := v.rng.abs() * l.opts.Headroom; r > 0 {
		want = min(want, max(0, floorLog2(float64(top)/r)-(tn.Frac-frac)))
	}
	shift := want
	for !fits(l.magnitude(num), shift) {
		shift--
	}
	limit := int64(pow2(shift)*float64(l.magnitude(num))/float64(lo)) + 1
	l.steps = append(l.steps, stepReport{StepReport{
		Node: l.name, Entries: l.entries(v.shape), Bits: bits - (want - shift) - (bits - numBits), Wanted: bits,
		Frac: tn.Frac - frac + shift, TableBits: table,
	}, model.Log2Ceil(int(limit)) + 2 + (want - shift)})

	// What sign the divisor may have its bounds say: calibration may have missed some.
	numExpr := l.tensorExpr(num, broadcastView(a.shape, v.shape), v.shape)
	switch {
	case tb.Max <= 0:
		numExpr = numExpr.times(-1)
	case tb.Min < 0:
		ida, la := l.squeezed(num, v.shape)
		if tableBits(tb.Min, tb.Max) <= l.plan.tableBits {
			s := l.witness("sign of "+b.name, b.shape, 0, -1, 1)
			l.lookup(l.tensorExpr(id, nil, b.shape), tb.Frac, l.piecewise(sign, -1, 1), s)
			ids, ls := l.squeezed(s, v.shape)
			numExpr = l.product(v.shape, ida, la, ids, ls, 1)
			break
		}
		// Twice the numerator where the divisor is positive, less once.
		most := numExpr.abs()
		s, ls := l.squeezed(l.notNegative("sign of "+b.name, l.tensorExpr(id, nil, b.shape)), v.shape)
		twice := l.product(v.shape, ida, la, s, ls, 1).times(2)
		twice.frac = numExpr.frac
		numExpr = twice.plus(numExpr.times(-1))
		numExpr.min, numExpr.max = -most, most
	}
	den, labels := l.squeezed(magnitude, v.shape)
	qFrac := tn.Frac - frac + shift
	out := l.witness(v.name, v.shape, qFrac, max(-limit, -top-1), min(limit, top))
	keys := l.piecewiseOf(keep, -top-1, top, table)
	q := l.divide(quotient{
		name: "quotient", shape: v.shape, num: numExpr, shift: shift, den: den, labels: labels,
		view: labelView(labels, v.shape), keys: keys, first: -int64(1) << (table - 1), bits: table,
		out: out, saturated: rowsBeyond(&l.g.Tables[keys], keep, -top-1, top, limit > top, limit > top),
	})
	l.g.Tensors[q].Frac = qFrac
	v.id, v.shaped = out, out
}

package lower

import (
	"math"

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
	a, b, sums := in[0], in[1], TraitsOf(op).Sums
	exact := l.integers(v.name) && op != graph.Div
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

// term is an operand of a sum: an expression and the value it came from.
type term struct {
	v *value
	e *fixed.Int
}

// align brings terms to a common frac and adds them, leaving room for a
// constant of real magnitude extra. v is the sum. If it would be too wide, the finest
// terms are rounded first.
func (l *lowering) align(terms []term, extra float64, v *value) *fixed.Int {
	if l.integers(v.name) { // which are on one scale
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
		// First to a tensor of its own, then to a scale not much finer than
		// the sum's.
		t := &terms[0]
		for i := range terms {
			if e := terms[i].e; e.Frac > t.e.Frac || e.Frac == t.e.Frac && e.Abs() > t.e.Abs() {
				t = &terms[i]
			}
		}
		was := t.e
		if !was.Linear() || len(was.Acc.Linear) > 1 {
			t.e = l.View(l.roundTerm(t.v, was), nil, was.Shape)
		}
		if t.e.Frac >= was.Frac {
			widest := math.Max(math.Max(v.rng.Abs()*l.opts.Headroom, extra), fixed.Pow2(-40))
			target := min(fixed.FloorLog2(float64(l.Plan.Limit())/widest/16), was.Frac-1)
			t.e = l.View(l.RoundTo(t.v.name, was, target), nil, was.Shape)
		}
		if t.e.Frac >= was.Frac && t.e.Abs() >= was.Abs() {
			refuse.With("operands of too different scales: the sum does not fit in 30 bits")
		}
	}
}

// roundTerm rounds a term of a sum, or what is multiplied by a number, to its value's
// bits, or those that all values have.
func (l *lowering) roundTerm(x *value, e *fixed.Int) model.TensorID {
	return l.roundValue(x, e, x.rng, min(l.formatted(x), fixed.NarrowBits), l.Plan.Bits, fixed.WholeLine)
}

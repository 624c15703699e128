package quantise

import (
	"math"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// term is an operand of a sum: an expression and the value it came from.
type term struct {
	v *value
	e *expr
}

// align brings terms to a common frac and adds them, leaving room for a
// constant of real magnitude extra. v is the sum. If it would be too wide, the finest
// terms are rounded first.
func (l *lowering) align(terms []term, extra float64, v *value) *expr {
	for {
		frac := math.MinInt32
		for _, t := range terms {
			if t.e.abs() != 0 {
				frac = max(frac, t.e.frac)
			}
		}
		if frac == math.MinInt32 {
			frac = terms[0].e.frac
		}
		total := extra * pow2(frac)
		for _, t := range terms {
			total += float64(float64(t.e.abs()) * pow2(frac-t.e.frac))
		}
		if total <= float64(l.limitOf(v)) {
			sum := &expr{shape: terms[0].e.shape, frac: frac}
			for _, t := range terms {
				c := int64(1)
				if t.e.abs() != 0 {
					c = 1 << (frac - t.e.frac)
				}
				sum = sum.plus(t.e.times(c))
			}
			return sum
		}
		// First to a tensor of its own, then to a scale not much finer than
		// the sum's.
		t := &terms[0]
		for i := range terms {
			if e := terms[i].e; e.frac > t.e.frac || e.frac == t.e.frac && e.abs() > t.e.abs() {
				t = &terms[i]
			}
		}
		was := t.e
		if !was.linear() || len(was.acc.Linear) > 1 {
			t.e = l.tensorExpr(l.roundTerm(t.v, was), nil, was.shape)
		}
		if t.e.frac >= was.frac {
			widest := math.Max(math.Max(v.rng.abs()*l.opts.Headroom, extra), pow2(-40))
			target := min(floorLog2(float64(l.plan.limit())/widest/16), was.frac-1)
			t.e = l.tensorExpr(l.roundTo(t.v.name, was, target), nil, was.shape)
		}
		if t.e.frac >= was.frac && t.e.abs() >= was.abs() {
			refuse("operands of too different scales: the sum does not fit in 30 bits")
		}
	}
}

// roundTerm rounds a term of a sum, or what is multiplied by a number, to its value's
// bits, or those that all values have.
func (l *lowering) roundTerm(x *value, e *expr) model.TensorID {
	if f := l.formatted(x); f > 0 {
		return l.roundFormat(x, e, x.rng, min(f, narrowBits), wholeLine)
	}
	return l.round(x.name, e, l.reachOf(x.rng), l.plan.bits, wholeLine)
}

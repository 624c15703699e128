package quantise

import (
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/model"
)

// lowerRescale lowers round(x·factor) for whole numbers x: as the quotient of
// 2·num·x + den and 2·den for a fraction num/den that is as close to the factor as
// the bounds allow.
func lowerRescale(l *lowering, n *graph.Node, op graph.Rescale, v *value) {
	e := l.takeFlat(l.values[n.Inputs[0]])
	if e.frac > 0 {
		refuse("its operand is not known to be of whole numbers")
	}
	if e.frac < 0 {
		if !l.room(float64(e.abs()) * pow2(-e.frac)) {
			refuse("values of up to %g are too large", float64(e.abs())*pow2(-e.frac))
		}
		e = e.times(1 << -e.frac)
		e.frac = 0
	}
	most := math.Max(float64(e.abs()), 1)
	reach := math.Ceil(most*op.Factor) + 1 // of the result
	// The division's range and quotient, and its numerator, fit in 30 bits.
	limit := math.Min(pow2(28)/reach, pow2(26-model.Log2Ceil(int(math.Min(reach, pow2(26))))))
	if limit < 16 {
		refuse("results of up to %g are too large", reach)
	}
	num, den := fraction(op.Factor, int64(math.Min(limit, 1<<18)), int64((model.Bound/2-1)/most))
	if num == 0 {
		v.pending = &expr{shape: e.shape}
		return
	}
	acc := e.times(2 * num).plusConst(den)
	v.id = l.quotientOf(v.name, acc, l.scalar("divisor", 2*den), 2*den)
}

// fraction returns the best fraction num/den of those with den ≤ most and num ≤
// mostNum that continued fractions give.
func fraction(x float64, most, mostNum int64) (num, den int64) {
	n0, d0, n1, d1 := int64(0), int64(1), int64(1), int64(0)
	for range 40 {
		a := math.Min(math.Floor(x), 1<<31)
		n2, d2 := int64(a)*n1+n0, int64(a)*d1+d0
		if d2 > most || n2 > mostNum {
			// As much of this step as fits, if that is more than half of it.
			part := (most - d0) / max(d1, 1)
			if n1 > 0 {
				part = min(part, (mostNum-n0)/n1)
			}
			if 2*part > int64(a) {
				n1, d1 = part*n1+n0, part*d1+d0
			}
			break
		}
		n0, d0, n1, d1 = n1, d1, n2, d2
		if x -= a; x < 1e-12 {
			break
		}
		x = 1 / x
	}
	if d1 == 0 {
		return 0, 1
	}
	return n1, d1
}

// quotientOf is ⌊e/den⌋, of e's shape, for a divisor, a fixed number or a tensor of
// that shape, that is at most most. The caller answers for the bounds.
func (l *lowering) quotientOf(name string, e *expr, den model.TensorID, most int64) model.TensorID {
	least := l.g.Tensors[den].Min
	first, last := min(floorDiv(e.min, least), 0), max(floorDiv(e.max, least), 0)
	bits := max(tableBits(first, last), 8)
	remainder := model.Log2Ceil(int(most))
	if bits > model.MaxTableBits || float64(int64(1)<<bits)*2*math.Ldexp(1, remainder) > math.Ldexp(1, 31) || e.abs() >= model.Bound {
		refuse("a division of up to %d by up to %d does not fit in 30 bits", e.abs(), most)
	}
	if !sameShape(l.g.Tensors[den].Shape, e.shape) {
		t := l.g.Tensors[den]
		den = l.virtual("divisor", e.shape, []model.Linear{{Coef: 1, Src: den, View: broadcastView(t.Shape, e.shape)}}, t.Frac)
	}
	q := l.witness(name, e.shape, 0, first, last)
	l.division(e.acc, den, q, most-1)
	if first == 0 {
		l.direct(l.tensorExpr(q, nil, e.shape), l.rangeTable(bits), model.None)
		return q
	}
	out := l.witness(name, e.shape, 0, first, last)
	l.direct(l.tensorExpr(q, nil, e.shape), l.piecewiseOf(keep, -model.Bound, model.Bound, bits), out)
	return out
}

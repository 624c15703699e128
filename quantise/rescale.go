package quantise

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

func init() { register(lowerRescale, always[graph.Rescale](traits{jumps: true})) }

// lowerRescale lowers round(x·factor) for whole numbers x: as the quotient of
// 2·num·x + den and 2·den for a fraction num/den that is as close to the factor as
// the bounds allow.
func lowerRescale(l *lowering, n *graph.Node, op graph.Rescale, v *value) {
	e := l.takeFlat(l.values[n.Inputs[0]])
	if e.frac > 0 { // whole numbers on a scale finer than that needs
		e, _ = l.floor("whole", e)
	}
	factor := op.Factor * pow2(-e.frac) // of e's integers
	e = &expr{acc: e.acc, shape: e.shape, min: e.min, max: e.max}
	most := math.Max(float64(e.abs()), 1)
	reach := math.Ceil(most*factor) + 1 // of the result
	// The division's range and quotient, and its numerator, fit in 30 bits.
	limit := math.Min(pow2(28)/reach, pow2(26-model.Log2Ceil(int(math.Min(reach, pow2(26))))))
	if limit < 16 {
		refuse("results of up to %g are too large", reach)
	}
	num, den := fraction(factor, int64(math.Min(limit, 1<<18)), int64((model.Bound/2-1)/most))
	if num == 0 {
		v.pending = &expr{shape: e.shape}
		return
	}
	acc := e.times(2 * num).plusConst(den)
	v.id = l.quotientOf(v, acc, l.scalar("divisor", 2*den), 2*den)
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

// quotientOf is v = ⌊e/den⌋, of e's shape, for a divisor that broadcasts to it and is
// at most most, clamped to v's calibrated range, head-room included.
func (l *lowering) quotientOf(v *value, e *expr, den model.TensorID, most int64) model.TensorID {
	first, last, fits := l.quotients(e, den, most)
	if !fits {
		refuse("a division of up to %d by up to %d does not fit in 30 bits", e.abs(), most)
	}
	bits := max(tableBits(first, last), leastQuotients)
	den = l.repeated(den, e.shape)
	q := l.witness(v.name, e.shape, 0, first, last)
	l.division(e.acc, den, q, most-1)
	reach := int64(math.Min(math.Ceil(v.rng.abs()*l.opts.Headroom)+1, model.Bound))
	lo, hi := max(first, -reach), min(last, reach)
	out := l.witness(v.name, e.shape, 0, lo, hi)
	table := l.piecewiseOf(keep, lo, hi, bits)
	l.clamped(table, keep, lo, hi, lo > first, hi < last)
	l.direct(l.tensorExpr(q, nil, e.shape), table, out)
	return out
}

// leastQuotients is the least size of a table that quotients are looked up in.
const leastQuotients = 8

// quotients bounds ⌊e/den⌋ and 0, and says whether one division has them.
func (l *builder) quotients(e *expr, den model.TensorID, most int64) (first, last int64, fits bool) {
	least := l.g.Tensors[den].Min
	first, last = min(floorDiv(e.min, least), 0), max(floorDiv(e.max, least), 0)
	bits := max(tableBits(first, last), leastQuotients)
	remainder := model.Log2Ceil(int(most))
	fits = bits <= model.MaxTableBits && math.Ldexp(1, bits+1+remainder) <= math.Ldexp(1, 31) && e.abs() < model.Bound
	return first, last, fits
}

// repeated is a tensor that broadcasts to a shape, in that.
func (l *builder) repeated(id model.TensorID, shape []int) model.TensorID {
	t := l.g.Tensors[id]
	if slices.Equal(t.Shape, shape) {
		return id
	}
	return l.virtual("divisor", shape, []model.Linear{{Coef: 1, Src: id, View: broadcastView(t.Shape, shape)}}, t.Frac)
}

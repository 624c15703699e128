package lower

import (
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

func init() { register(lowerRescale, always[graph.Rescale](Traits{jumps: true})) }

// lowerRescale lowers round(x·factor) for whole numbers x: as the quotient of
// 2·num·x + den and 2·den for a fraction num/den that is as close to the factor as
// the bounds allow.
func lowerRescale(l *lowering, n *graph.Node, op graph.Rescale, v *value) {
	e := l.notFiner(l.operandFlat(l.values[n.Inputs[0]]))
	factor := op.Factor * fixed.Pow2(-e.Frac) // of e's integers
	e = &fixed.Int{Acc: e.Acc, Shape: e.Shape, Min: e.Min, Max: e.Max}
	most := math.Max(float64(e.Abs()), 1)
	reach := math.Ceil(most*factor) + 1 // of the result
	// The division's range and quotient, and its numerator, fit in 30 bits.
	limit := math.Min(fixed.Pow2(28)/reach, fixed.Pow2(26-model.Log2Ceil(int(math.Min(reach, fixed.Pow2(26))))))
	if limit < 16 {
		refuse.With("results of up to %g are too large", reach)
	}
	num, den := fraction(factor, int64(math.Min(limit, 1<<18)), int64((model.Bound/2-1)/most))
	if num == 0 {
		v.acc = &fixed.Int{Shape: e.Shape}
		return
	}
	quotient, _ := l.LongDivision(v.name, fixed.IntegerDivision{Num: e.Times(2 * num).PlusConst(den), Den: l.Scalar("divisor", 2*den), Most: 2 * den})
	v.id = l.TensorOf(v.name, quotient)
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

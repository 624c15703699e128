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
	register(lowerFloorDiv, always[graph.FloorDiv](Traits{jumps: true}))
	register(lowerFloorMod, always[graph.FloorMod](Traits{jumps: true}))
	register(lowerRescale, always[graph.Rescale](Traits{jumps: true}))
}

// dividend returns the operands of the division that a node is (fixed.Builder.LongDivision). A divisor that is 0 in
// spite of the calibration counts as the least there is, of floats half of the least that was met.
func (l *lowering) dividend(n *graph.Node, v *value) (*fixed.Int, model.TensorID) {
	operand := func(i int) *value {
		if x := l.values[n.Inputs[i]]; x != nil {
			return x
		}
		return l.exactConstant(n.Inputs[i])
	}
	a, b := operand(0), operand(1)
	var e *fixed.Int
	if p := a.acc; p != nil && a.id == model.None && a.uses == 1 && p.Abs() < model.Bound/4 &&
		slices.Equal(a.shape, v.shape) && slices.Equal(p.Shape, v.shape) {
		e = p // as it is, before anything is rounded
	} else {
		e = l.broadcastOf(l.tensor(a), v.shape)
	}
	idb := l.tensor(b)
	if !l.integers(v.name) { // a divisor on a scale that leaves the other no room
		idb = l.coarser(b, idb, l.Circuit.Tensors[idb].Frac-(e.Frac+28-model.Log2Ceil(int(e.Abs())+1)))
	}
	frac := max(e.Frac, l.Circuit.Tensors[idb].Frac)
	e = e.Finer(frac - e.Frac)
	den := l.View(idb, nil, b.shape)
	den = den.Times(1 << (frac - den.Frac))
	if den.Max < 1 {
		refuse.With("its divisor is not positive")
	}
	least := int64(1)
	if !l.integers(v.name) { // what calibration has met says more of floats
		least = min(max(least, int64(b.rng.Least/l.opts.Headroom*fixed.Pow2(frac))), den.Max)
	}
	if den.Min < least {
		if bits := max(fixed.TableBits(den.Min, den.Max), fixed.FormatTable); bits > model.MaxTableBits {
			id := l.Exact("divisor", l.ClampWhole("divisor", den, least, den.Max))
			den = l.View(id, nil, b.shape)
		} else {
			den.Frac = frac
			den = l.Clamp("divisor", den, least, den.Max, bits)
		}
	}
	wid := den.Acc.Linear[0].Src
	if den.Acc.Linear[0].Coef != 1 {
		wid = l.Exact("divisor", den)
	}
	return e, wid
}

// lowerFloorDiv lowers ⌊a/b⌋, b > 0.
func lowerFloorDiv(l *lowering, n *graph.Node, _ graph.FloorDiv, v *value) {
	num, den := l.dividend(n, v)
	quotient, _ := l.LongDivision(v.name, num, den)
	v.id = l.TensorOf(v.name, quotient)
}

// lowerFloorMod lowers a − b·⌊a/b⌋, b > 0: what the division leaves.
func lowerFloorMod(l *lowering, n *graph.Node, _ graph.FloorMod, v *value) {
	num, den := l.dividend(n, v)
	_, v.acc = l.LongDivision(v.name, num, den)
}

// exactConstant makes an operand of a constant whose entries are held as they are,
// if they are whole numbers or have few binary digits.
func (l *lowering) exactConstant(name string) *value {
	t := l.fg.Consts[name]
	values := t.Float64s()
	frac := 0
	for _, x := range values {
		for x *= fixed.Pow2(frac); frac < 12 && x != math.Trunc(x); x *= 2 {
			frac++
		}
	}
	id := l.Constant(name, t.Shape, values, frac)
	return heldIn(id, value{name: name, shape: t.Shape, rng: NewRange(values).plusNone()})
}

// lowerRescale lowers round(x·factor) for whole numbers x: as the quotient of
// 2·num·x + den and 2·den for a fraction num/den that is as close to the factor as
// the bounds allow.
func lowerRescale(l *lowering, n *graph.Node, op graph.Rescale, v *value) {
	e := l.notFiner(l.operandFlat(l.values[n.Inputs[0]]))
	factor := op.Factor * fixed.Pow2(-e.Frac) // of e's integers
	e = e.On(0)
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
	quotient, _ := l.LongDivision(v.name, e.Times(2*num).PlusConst(den), l.Scalar("divisor", 2*den))
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

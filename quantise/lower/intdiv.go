package lower

import (
	"fmt"
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
	register(lowerBits, always[graph.Bits](Traits{jumps: true}))
}

// dividend returns the dividend and the divisor of a node, on one scale, as fixed.Builder.LongDivision takes them. The
// divisor is clamped from below, so that it is positive: integers to 1, floats to the least magnitude that
// calibration met, over the head-room.
func (l *lowering) dividend(v *value, in []*value) (*fixed.Int, model.TensorID) {
	for i, name := range v.node.Inputs {
		if in[i] == nil {
			in[i] = l.exactConstant(name)
		}
	}
	a, b := in[0], in[1]
	var e *fixed.Int
	if p := a.acc; p != nil && a.id == model.None && a.uses == 1 && p.Abs() < model.Bound/4 &&
		slices.Equal(a.shape, v.shape) && slices.Equal(p.Shape, v.shape) {
		e = p // the accumulator, before anything is rounded
	} else {
		e = l.broadcastOf(l.tensor(a), v.shape)
	}
	idb := l.tensor(b)
	if !l.integers(v.name) { // a divisor is made coarser if the dividend, on the divisor's scale, would exceed 28 bits
		idb = l.coarser(b, idb, l.Circuit.Tensors[idb].Frac-(e.Frac+28-model.Log2Ceil(int(e.Abs())+1)))
	}
	frac := max(e.Frac, l.Circuit.Tensors[idb].Frac)
	e = e.Finer(frac - e.Frac)
	den := l.Of(idb)
	den = den.Times(1 << (frac - den.Frac))
	refuse.If(den.Max < 1, "its divisor is not positive")
	least := int64(1)
	if !l.integers(v.name) { // for floats 1 is no natural bound: calibration gives one
		least = min(max(least, int64(b.rng.Least/l.opts.Headroom*fixed.Pow2(frac))), den.Max)
	}
	if den.Min < least {
		if bits := max(fixed.TableBits(den.Min, den.Max), fixed.FormatTable); bits > model.MaxTableBits {
			id := l.Exact("divisor", l.ClampWhole("divisor", den, least, den.Max))
			den = l.Of(id)
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
func lowerFloorDiv(l *lowering, _ graph.FloorDiv, v *value, in []*value) {
	num, den := l.dividend(v, in)
	quotient, _ := l.LongDivision(v.name, num, den)
	v.id = l.TensorOf(v.name, quotient)
}

// lowerFloorMod lowers a − b·⌊a/b⌋, b > 0: the remainder of the division.
func lowerFloorMod(l *lowering, _ graph.FloorMod, v *value, in []*value) {
	num, den := l.dividend(v, in)
	_, v.acc = l.LongDivision(v.name, num, den)
}

// exactConstant makes a value of a constant, so that it can be an operand like a computed one. Its scale is the coarsest on
// which all entries are exact, or 12 if that is finer.
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

// lowerRescale lowers round(x·factor) for whole numbers x: as ⌊(2·num·x + den)/(2·den)⌋ for a
// fraction num/den that is as close to the factor as the bounds allow. If the factor is num/2^k, x·factor is half-way between
// two whole numbers for odd multiples x of 2^(k−1). Where x reaches that far, num·x in units of 2^−k is rounded to the even
// number instead.
func lowerRescale(l *lowering, op graph.Rescale, v *value, in []*value) {
	e := l.notFiner(l.operandFlat(in[0]))
	factor := op.Factor * fixed.Pow2(-e.Frac) // for e's integers
	e = e.On(0)
	most := math.Max(float64(e.Abs()), 1)
	k, times := 0, factor
	for ; times != math.Trunc(times) && k < 30; k++ {
		times *= 2
	}
	if times == math.Trunc(times) && k > 0 && most >= fixed.Pow2(k-1) && times*most < model.Bound/4 {
		v.acc = l.Round2even(v.name, e.Times(int64(times)).On(k))
		return
	}
	reach := math.Ceil(most*factor) + 1 // the largest result
	// The division's range and quotient, and its numerator, fit in 30 bits.
	limit := math.Min(fixed.Pow2(28)/reach, fixed.Pow2(26-model.Log2Ceil(int(math.Min(reach, fixed.Pow2(26))))))
	refuse.If(limit < 16, "results of up to %g are too large", reach)
	num, den := fraction(factor, int64(math.Min(limit, 1<<18)), int64((model.Bound/2-1)/most))
	if num == 0 {
		v.acc = &fixed.Int{Shape: e.Shape}
		return
	}
	quotient, _ := l.LongDivision(v.name, e.Times(2*num).PlusConst(den), l.Scalar("divisor", 2*den))
	v.id = l.TensorOf(v.name, quotient)
}

// fraction returns a fraction num/den near x, with den ≤ most and num ≤ mostNum: the last convergent of the continued
// fraction of x within these limits, or a better fraction between that and the next. It returns 0/1 if there is none.
func fraction(x float64, most, mostNum int64) (num, den int64) {
	n0, d0, n1, d1 := int64(0), int64(1), int64(1), int64(0)
	for range 40 {
		a := math.Min(math.Floor(x), 1<<31)
		n2, d2 := int64(a)*n1+n0, int64(a)*d1+d0
		if d2 > most || n2 > mostNum {
			// A semiconvergent, with as much of this step as the limits allow, is better if that is more than half of the step.
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

// lowerBits cuts integers of N bits into their bits, the highest first. The key of a look-up of the integer is the
// highest bit; the key of a look-up of the remainder is the next, and so on. Each look-up has a table of two keys, so that
// the first forces the integer to be below 2^N, and each of the others forces the remainder before to be below its
// modulus. An integer whose static bound is wider is clamped first, if calibration stayed within N bits.
func lowerBits(l *lowering, op graph.Bits, v *value, in []*value) {
	x := in[0]
	e := l.notFiner(l.operand(x))
	top := int64(1)<<op.N - 1
	// Ranges may be rounded outwards, which is allowed for here: the float model itself refuses integers beyond N bits.
	if e.Frac < 0 || x.rng.Min < 0 || x.rng.Max > float64(top)*(1+1./(1<<15)) {
		zero := float64(op.Zero)
		refuse.With("bits of integers from %.10g to %.10g: exact ones from %d to %d are taken apart",
			x.rng.Min+zero, x.rng.Max+zero, op.Zero, top+op.Zero)
	}
	if e.Min < 0 || e.Max > top {
		if bits := max(fixed.TableBits(e.Min, e.Max), fixed.FormatTable); bits > model.MaxTableBits {
			e = l.ClampWhole(x.name, e, 0, top)
		} else {
			e = l.Clamp(x.name, e, 0, top, bits)
		}
	}
	// The result has one more axis, for the bits.
	last := len(e.Shape)
	shape := append(slices.Clone(e.Shape), 1)
	id := l.TensorOf(x.name, e)
	e = l.View(id, fixed.ReshapeView(e.Shape, shape), shape)
	all := model.Tensor{Name: v.name, Shape: v.shape, Kind: model.Virtual, Max: 1}
	put := func(k int, id model.TensorID) {
		w := model.SameIndexes(last + 1)
		w.Groups[last].Base = -k
		all.Def = append(all.Def, model.Linear{Coef: 1, Src: id, View: w})
	}
	for k := op.N - 1; k > 0; k-- {
		bit, rest := l.Cut(fmt.Sprintf("%s, bit %d", v.name, k), e, k, l.ShiftedTable(1, 0), 0, 1)
		put(k, bit)
		e = rest
	}
	if op.N == 1 {
		e = l.Of(l.Exact(v.name+", bit 0", e))
	}
	l.LookupDirect(e, l.RangeTable(1), model.None)
	put(0, e.Acc.Linear[0].Src)
	v.id = l.Add(all)
}

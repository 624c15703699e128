package quantise

import (
	"fmt"
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

func init() {
	register(lowerFloorDiv, always[graph.FloorDiv](traits{jumps: true}))
	register(lowerFloorMod, always[graph.FloorMod](traits{jumps: true}))
}

// integerDivision is that of two operands, the second positive: both on one scale, a
// division with remainder of the integers that they are there.
type integerDivision struct {
	num  *expr          // of the result's shape
	den  model.TensorID // that broadcasts to it
	most int64          // of den
}

// integerDivision prepares the division that a node is. A divisor that is 0 in spite of
// the calibration counts as the least there is, of floats half of the least that was met.
func (l *lowering) integerDivision(n *graph.Node, v *value) integerDivision {
	operand := func(i int) *value {
		if x := l.values[n.Inputs[i]]; x != nil {
			return x
		}
		return l.exactConstant(n.Inputs[i])
	}
	a, b := operand(0), operand(1)
	var e *expr
	if p := a.pending; p != nil && a.id == model.None && a.uses == 1 && slices.Equal(a.shape, v.shape) && slices.Equal(p.shape, v.shape) && p.abs() < model.Bound/4 {
		e = p // as it is, before anything is rounded
	} else {
		e = l.tensorExpr(l.tensor(a), broadcastView(a.shape, v.shape), v.shape)
	}
	idb := l.tensor(b)
	if !l.integers(v.name) { // a divisor on a scale that leaves the other no room
		if most := e.frac + 28 - model.Log2Ceil(int(e.abs())+1); l.g.Tensors[idb].Frac > most {
			idb = l.roundTo(b.name, l.tensorExpr(idb, nil, b.shape), most)
		}
	}
	frac := max(e.frac, l.g.Tensors[idb].Frac)
	e = e.times(1 << (frac - e.frac))
	e.frac = frac
	den := l.tensorExpr(idb, nil, b.shape)
	den = den.times(1 << (frac - den.frac))
	if den.max < 1 {
		refuse("its divisor is not positive")
	}
	least := int64(1)
	if !l.integers(v.name) { // what calibration has met says more of floats
		least = min(max(least, int64(b.rng.Least/l.opts.Headroom*pow2(frac))), den.max)
	}
	if den.min < least {
		var id model.TensorID
		if bits := max(tableBits(den.min, den.max), formatTable); bits > model.MaxTableBits {
			id = l.exact("divisor", l.clampWhole("divisor", den, least, den.max))
		} else {
			id = l.witness("divisor", b.shape, frac, least, den.max)
			table := l.piecewiseOf(keep, least, den.max, bits)
			l.clamped(table, keep, least, den.max, true, false)
			l.direct(den, table, id)
		}
		den = l.tensorExpr(id, nil, b.shape)
	}
	wid := den.acc.Linear[0].Src
	if den.acc.Linear[0].Coef != 1 {
		wid = l.exact("divisor", den)
	}
	return integerDivision{e, wid, den.max}
}

// lowerFloorDiv lowers ⌊a/b⌋, b > 0: in one division if the quotient fits, and in
// digits otherwise.
func lowerFloorDiv(l *lowering, n *graph.Node, _ graph.FloorDiv, v *value) {
	d := l.integerDivision(n, v)
	if _, _, fits := l.quotients(d.num, d.den, d.most); !fits {
		v.pending, _ = l.longDivision(v.name, d)
		return
	}
	v.id = l.quotientOf(v, d.num, d.den, d.most)
	v.shaped = v.id
}

// lowerFloorMod lowers a − b·⌊a/b⌋, b > 0: what the division leaves.
func lowerFloorMod(l *lowering, n *graph.Node, _ graph.FloorMod, v *value) {
	_, v.pending = l.longDivision(v.name, l.integerDivision(n, v))
}

// mostDigit bounds the digits of quotients, in bits: tables of ranges are no larger.
const mostDigit = 14

// longDivision is ⌊num/den⌋ and what that leaves, for numerators of any sign: digit by
// digit, from the highest one on, each with the remainder of the one before. The first
// takes ⌊num/2^s⌋, for some s, and is of any sign; the others are not negative.
func (l *builder) longDivision(name string, d integerDivision) (quotient, rest *expr) {
	e, shape := d.num, d.num.shape
	den := l.repeated(d.den, shape)
	least := l.g.Tensors[d.den].Min
	step := min(29-model.Log2Ceil(int(d.most)), mostDigit)
	if step < 1 || e.abs() >= model.Bound/2 {
		refuse("a division of up to %d by up to %d does not fit in 30 bits", e.abs(), d.most)
	}
	// As many digits below the first as leave its quotient no more bits than they have.
	count := 0
	for tableBits(floorDiv(e.min>>(step*count), least), floorDiv(e.max>>(step*count), least)) > step {
		count++
	}
	low := make([]*expr, count)
	if count > 0 {
		lo, hi := e.min>>(step*count), e.max>>(step*count)
		bits := max(tableBits(lo, hi), min(formatTable, 30-step*count))
		if bits > model.MaxTableBits || bits+step*count > 30 {
			refuse("a division of up to %d by up to %d does not fit in 30 bits", e.abs(), d.most)
		}
		top := l.witness(name+", high", shape, 0, lo, hi)
		rest := l.cut(e, step*count, l.piecewiseOf(keep, -model.Bound, model.Bound, bits), top)
		for i := count - 1; i > 0; i-- {
			id := l.witness(fmt.Sprintf("%s, limb %d", name, i), shape, 0, 0, 1<<step-1)
			rest = l.cut(rest, step*i, l.shiftedTable(step, 0), id)
			low[i] = l.tensorExpr(id, nil, shape)
		}
		l.inRange(rest, step)
		low[0], e = rest, l.tensorExpr(top, nil, shape)
	}
	first, last := floorDiv(e.min, least), floorDiv(e.max, least)
	q := l.witness(name, shape, 0, first, last)
	rest = l.division(e.acc, den, q, d.most-1)
	quotient = l.tensorExpr(q, nil, shape)
	l.direct(quotient.plusConst(-first), l.rangeTable(model.Log2Ceil(int(last-first)+1)), model.None)
	for i := count - 1; i >= 0; i-- {
		digit := l.witness(name+", digit", shape, 0, 0, 1<<step-1)
		rest = l.division(rest.times(1<<step).plus(low[i]).acc, den, digit, d.most-1)
		l.inRange(l.tensorExpr(digit, nil, shape), step)
		quotient = quotient.times(1 << step).plus(l.tensorExpr(digit, nil, shape))
	}
	rest.frac = d.num.frac
	return quotient, rest
}

// exactConstant makes an operand of a constant whose entries are held as they are,
// if they are whole numbers or have few binary digits.
func (l *lowering) exactConstant(name string) *value {
	t := l.fg.Consts[name]
	values := t.Float64s()
	frac := 0
	for _, x := range values {
		for x *= pow2(frac); frac < 12 && x != math.Trunc(x); x *= 2 {
			frac++
		}
	}
	id := l.constant(name, t.Shape, values, frac)
	return &value{name: name, shape: t.Shape, rng: Ranges(map[string][]float64{name: values})[name], id: id, shaped: id}
}

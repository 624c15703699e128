package fixed

import (
	"fmt"

	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// RoundedQuotient is q = ⌊(2·num + den)/(2·den)⌋ in [first, last], entry by entry of num's shape, as a
// tensor of that scale, but for a look-up of q: den is positive, and a view of it has the shape (nil: it is of
// it). The caller sees to it that neither side of 2·num + den = 2·den·q + r wraps.
func (b *Builder) RoundedQuotient(name string, num *Int, den model.TensorID, view *model.View, frac int, first, last int64) model.TensorID {
	t := b.Circuit.Tensors[den]
	denOf := func(c int64) model.Linear { return model.Linear{Coef: c, Src: den, View: view} }
	acc := num.Times(2).Plus(&Int{Acc: model.Acc{Linear: []model.Linear{denOf(1)}}}).Acc
	double := b.Virtual("divisor", num.Shape, []model.Linear{denOf(2)}, t.Frac)
	q := b.Witness(name, num.Shape, frac, first, last)
	b.Division(acc, double, q, 2*t.Max-1)
	return q
}

// Division adds the step q = ⌊acc/den⌋ with a remainder of at most most, and the
// steps that constrain it but for a look-up of q. It returns the remainder.
//
// The quotient and the remainder r are the prover's choice; what forces them is
// acc = den·q + r over the integers with 0 ≤ r < den (model.Division).
func (b *Builder) Division(acc model.Acc, den, q model.TensorID, most int64) *Int {
	shape := b.Circuit.Tensors[den].Shape
	r := b.Witness("remainder", shape, 0, 0, most)
	step := b.step(model.StepDivide, shape, acc)
	step.Lo, step.Out, step.Den = r, q, den
	d := b.Circuit.Division(&step)
	b.addStep(step)
	b.addStep(b.step(model.StepZero, shape, d.Equation))
	bits := model.Log2Ceil(int(most) + 1)
	b.InRange(b.View(r, nil, shape), bits)
	b.InRange(&Int{Shape: shape, Acc: d.Below, Min: 0, Max: most}, bits)
	return b.View(r, nil, shape)
}

func FloorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// mostDigit bounds the digits of quotients, in bits: tables of ranges are no larger.
const mostDigit = 14

// LongDivision is ⌊num/den⌋ and what that leaves, of the integers of two operands on one scale, of which the second
// is positive and broadcasts to the first: in one division where its quotient is a digit,
// and else digit by digit, from the highest one on, each with the remainder of the one before. The
// first takes ⌊num/2^s⌋, for some s, and is of any sign; the others are not negative.
func (b *Builder) LongDivision(name string, num *Int, den model.TensorID) (quotient, rest *Int) {
	e, shape, least, most := num, num.Shape, b.Circuit.Tensors[den].Min, b.Circuit.Tensors[den].Max
	den = b.Repeated(den, shape)
	remainder, count := model.Log2Ceil(int(most)), 0
	step := min(29-remainder, mostDigit)
	quotients := func() int {
		return TableBits(FloorDiv(e.Min>>(step*count), least), FloorDiv(e.Max>>(step*count), least))
	}
	if n := quotients(); n > mostDigit || n+remainder > 30 || e.Abs() >= model.Bound {
		if step < 1 || e.Abs() >= model.Bound/2 {
			refuse.With("a division of up to %d by up to %d does not fit in 30 bits", e.Abs(), most)
		}
		for quotients() > step { // as many digits below the first as leave its quotient no more bits than they have
			count++
		}
	}
	low := make([]*Int, count)
	if count > 0 {
		least := min(FormatTable, 30-step*count)
		bits := max(TableBits(e.Min>>(step*count), e.Max>>(step*count)), least)
		if bits > model.MaxTableBits || bits+step*count > 30 {
			refuse.With("a division of up to %d by up to %d does not fit in 30 bits", e.Abs(), most)
		}
		top, rest := b.Halve(name+", high", e, step*count, least)
		for i := count - 1; i > 0; i-- {
			var id model.TensorID
			id, rest = b.Cut(fmt.Sprintf("%s, limb %d", name, i), rest, step*i, b.ShiftedTable(step, 0), 0, 1<<step-1)
			low[i] = b.Of(id)
		}
		b.InRange(rest, step)
		low[0], e = rest, b.Of(top)
	}
	first, last := FloorDiv(e.Min, least), FloorDiv(e.Max, least)
	q := b.Witness(name, shape, 0, first, last)
	rest = b.Division(e.Acc, den, q, most-1)
	quotient = b.View(q, nil, shape)
	b.LookupDirect(quotient.PlusConst(-first), b.RangeTable(model.Log2Ceil(int(last-first)+1)), model.None)
	for i := count - 1; i >= 0; i-- {
		digit := b.Witness(name+", digit", shape, 0, 0, 1<<step-1)
		rest = b.Division(rest.Times(1<<step).Plus(low[i]).Acc, den, digit, most-1)
		b.InRange(b.View(digit, nil, shape), step)
		quotient = quotient.Times(1 << step).Plus(b.View(digit, nil, shape))
	}
	rest.Frac = num.Frac
	return quotient, rest
}

package fixed

import (
	"fmt"

	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// RoundedQuotient adds the tensor q = ⌊(2·num + den)/(2·den)⌋, which is num/den rounded to the nearest
// integer, entry by entry, on the scale frac. den is positive, and view gives it num's shape (nil: it has
// that shape). The caller adds the look-up that keeps q in [first, last], and makes sure that neither side
// of 2·num + den = 2·den·q + r wraps modulo p.
func (b *Builder) RoundedQuotient(name string, num *Int, den model.TensorID, view *model.View, frac int, first, last int64) model.TensorID {
	t := b.Circuit.Tensors[den]
	denOf := func(c int64) model.Linear { return model.Linear{Coef: c, Src: den, View: view} }
	acc := num.Times(2).Plus(&Int{Acc: model.Acc{Linear: []model.Linear{denOf(1)}}}).Acc
	double := b.Virtual("divisor", num.Shape, []model.Linear{denOf(2)}, t.Frac)
	q := b.Witness(name, num.Shape, frac, first, last)
	b.Division(acc, double, q, 2*t.Max-1)
	return q
}

// Division adds the step q = ⌊acc/den⌋ with a remainder in [0, most], and the
// steps that constrain both, except the look-up of q, which the caller adds. It
// returns the remainder.
//
// The prover chooses the quotient q and the remainder r. The constraints force them:
// acc = den·q + r over the integers, with 0 ≤ r < den (model.Division).
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

// FloorDiv is ⌊a/b⌋.
func FloorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// mostDigit is the most bits that a digit of a quotient has: each digit is looked up in a range table.
const mostDigit = 14

// LongDivision returns ⌊num/den⌋ and the remainder num − den·⌊num/den⌋, for two operands on one scale. den is
// positive and broadcasts to num's shape.
//
// If the quotient has at most mostDigit bits, this takes one division. Otherwise it is long division: num is cut
// into ⌊num/2^(step·count)⌋, which may be negative, and count digits of step bits below it. The first part is
// divided by den; then each remainder, with the next digit appended to it, is divided again.
func (b *Builder) LongDivision(name string, num *Int, den model.TensorID) (quotient, rest *Int) {
	e, shape, least, most := num, num.Shape, b.Circuit.Tensors[den].Min, b.Circuit.Tensors[den].Max
	den = b.Repeated(den, shape)
	remainder, count := model.Log2Ceil(int(most)), 0 // bits of a remainder, and digits below the first part
	step := min(29-remainder, mostDigit)
	quotients := func() int { // the bits of the first quotient
		return TableBits(FloorDiv(e.Min>>(step*count), least), FloorDiv(e.Max>>(step*count), least))
	}
	// One division does if its quotient is a digit, and neither the dividend nor quotient times divisor has more than 30 bits.
	if n := quotients(); n > mostDigit || n+remainder > 30 || e.Abs() >= model.Bound {
		if step < 1 || e.Abs() >= model.Bound/2 {
			refuse.With("a division of up to %d by up to %d does not fit in 30 bits", e.Abs(), most)
		}
		for quotients() > step { // until the first quotient has no more bits than a digit below it
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
	// Of a dividend that is never 0 the greatest divisor makes the quotient that is nearest to 0.
	first, last := min(FloorDiv(e.Min, least), FloorDiv(e.Min, most)), max(FloorDiv(e.Max, least), FloorDiv(e.Max, most))
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

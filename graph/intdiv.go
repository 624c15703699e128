package graph

import (
	"fmt"
	"math"
)

// FloorDiv is ⌊x/y⌋ for y > 0, broadcasting. The quotient is a whole number. For
// other y the result is anything.
type FloorDiv struct{}

// Kind implements [Op].
func (FloorDiv) Kind() string { return "FloorDiv" }

func (FloorDiv) infer(in []operandType) (operandType, error) {
	if err := arity(in, 2, 2); err != nil {
		return operandType{}, err
	}
	if err := alike(in[0], in[1]); err != nil {
		return operandType{}, err
	}
	if t := in[1].value; t != nil {
		for i := range t.Len() {
			if !(t.At(i) > 0) {
				return operandType{}, fmt.Errorf("its divisor is %v", t.At(i))
			}
		}
	}
	shape, err := broadcast(in[0].shape, in[1].shape)
	return operandType{shape: shape, dtype: in[0].dtype}, err
}

func (FloorDiv) eval(in []operand, shape []int) (operand, error) {
	f := zipWith(in[0].float64s(), in[1].float64s(), in[0].shape, in[1].shape, shape, func(a, b float64) float64 {
		return math.Floor(a / b)
	})
	return operand{shape: shape, f: f}, nil
}

// floorDiv is ⌊x/y⌋ for y of any sign but 0.
func (b *Builder) floorDiv(x, y Value) Value {
	if t := b.Tensor(y); t != nil {
		positive := true
		for i := range t.Len() {
			positive = positive && t.At(i) > 0
		}
		if positive {
			return b.emit(FloorDiv{}, x, y)
		}
	}
	if lo, _ := b.DType(y).Bounds(); !b.DType(y).IsFloat() && lo == 0 {
		return b.emit(FloorDiv{}, x, y)
	}
	sign := b.Cast(b.Test(IsNotNegative, y), b.DType(y))
	sign = b.Sub(b.Mul(sign, b.like(y, 2)), b.like(y, 1))
	return b.emit(FloorDiv{}, b.Mul(x, sign), b.Mul(y, sign))
}

// divideInts is x/y on integers, rounded towards zero: the quotient rounded down, and
// one more where that is negative and something is left.
func (b *Builder) divideInts(x, y Value) Value {
	q := b.floorDiv(x, y)
	if lo, _ := b.DType(x).Bounds(); lo == 0 || !b.valid(q) {
		return q
	}
	return b.Add(q, b.towardsZero(q, b.Sub(x, b.Mul(q, y))))
}

// towardsZero is 1 where a quotient that was rounded down is negative and leaves a
// rest.
func (b *Builder) towardsZero(q, rest Value) Value {
	return b.Cast(b.Compare(And, b.Not(b.Test(IsNotNegative, q)), b.Not(b.Test(IsZero, rest))), b.DType(q))
}

// Mod is the remainder with the sign of the divisor, or with fmod of the dividend.
func (b *Builder) Mod(x, y Value, fmod bool) Value {
	if !b.valid(x, y) {
		return Value{}
	}
	if b.Tensor(x) != nil && b.Tensor(y) != nil && (fmod || !b.DType(x).IsFloat()) {
		if fmod {
			return b.emit(Fmod, x, y)
		}
		return b.emit(Mod, x, y)
	}
	q := b.floorDiv(x, y)
	rest := b.Sub(x, b.Mul(q, y))
	if !fmod {
		return rest
	}
	return b.Sub(rest, b.Mul(b.towardsZero(q, rest), y))
}

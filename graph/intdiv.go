package graph

import (
	"math"

	"github.com/prove-model/prove-model/internal/refuse"
)

// FloorDiv is ⌊x/y⌋ for y > 0, broadcasting: a whole number. 0/0 is 0. For other y ≤ 0
// the result is arbitrary.
type FloorDiv struct{ division }

// division has the shape rule of a quotient or remainder.
type division struct{}

func (division) takes() operands { return operands{2, 2, alike} }

func (division) infer(in []operandType) operandType {
	if t := in[1].value; t != nil {
		for i := range t.Len() {
			if !(t.At(i) > 0) {
				refuse.With("its divisor is %v", t.At(i))
			}
		}
	}
	return operandType{shape: broadcast(in[0].shape, in[1].shape), dtype: in[0].dtype}
}

func (FloorDiv) eval(in []operand, shape []int) operand {
	f := zipWith(in[0].float64s(), in[1].float64s(), in[0].shape, in[1].shape, shape, func(a, b float64) float64 {
		if a == 0 {
			return 0
		}
		return math.Floor(a / b)
	})
	return operand{shape: shape, f: f}
}

// FloorMod is x − y·⌊x/y⌋ for y > 0, broadcasting: the remainder of FloorDiv. For other y
// the result is arbitrary.
type FloorMod struct{ division }

func (FloorMod) eval(in []operand, shape []int) operand {
	f := zipWith(in[0].float64s(), in[1].float64s(), in[0].shape, in[1].shape, shape, func(a, b float64) float64 {
		return a - float64(b*math.Floor(a/b))
	})
	return operand{shape: shape, f: f}
}

// floorDiv is ⌊x/y⌋ for any y ≠ 0.
func (b *Builder) floorDiv(x, y Value) Value {
	if b.positive(y) {
		return b.emit(FloorDiv{}, x, y)
	}
	sign := b.signs(y)
	return b.emit(FloorDiv{}, b.Mul(x, sign), b.Mul(y, sign))
}

// positive reports whether y is a constant whose elements are all above 0, or has an
// unsigned integer type.
func (b *Builder) positive(y Value) bool {
	if t := b.Tensor(y); t != nil {
		return t.positive()
	}
	lo, _ := b.DType(y).Bounds()
	return !b.DType(y).IsFloat() && lo == 0
}

// signs is 1 where y is not negative, and −1 elsewhere.
func (b *Builder) signs(y Value) Value {
	sign := b.Cast(b.Test(IsNotNegative, y), b.DType(y))
	return b.Sub(b.Mul(sign, b.like(y, 2)), b.like(y, 1))
}

// divideInts is x/y for integers, rounded towards zero: the quotient of the magnitudes,
// times the signs of x and y.
func (b *Builder) divideInts(x, y Value) Value {
	x, signX := b.size(x)
	y, signY := b.size(y)
	q := b.emit(FloorDiv{}, x, y)
	for _, sign := range []Value{signX, signY} {
		if b.valid(sign) {
			q = b.Mul(q, sign)
		}
	}
	return q
}

// size returns the magnitude of x and its signs. The signs are the zero Value if the type
// or value of x shows that it is not negative.
func (b *Builder) size(x Value) (size, signs Value) {
	if b.positive(x) {
		return x, Value{}
	}
	signs = b.signs(x)
	return b.Mul(x, signs), signs
}

// Mod is the remainder of x/y. It has the sign of the divisor, or of the dividend if fmod
// is set.
func (b *Builder) Mod(x, y Value, fmod bool) Value {
	if b.extends(x, y) && !b.partial(x, y) && !fmod && b.valid(x, y) {
		return b.pair(Float, b.modParts(x, y))
	}
	if !b.valid(x, y) {
		return Value{}
	}
	if b.Tensor(x) != nil && b.Tensor(y) != nil && (fmod || !b.DType(x).IsFloat()) {
		if fmod {
			return b.emit(Fmod, x, y)
		}
		return b.emit(Mod, x, y)
	}
	if fmod {
		x, sign := b.size(x)
		y, _ := b.size(y)
		rest := b.emit(FloorMod{}, x, y)
		if b.valid(sign) {
			rest = b.Mul(rest, sign)
		}
		return rest
	}
	if b.positive(y) {
		return b.emit(FloorMod{}, x, y)
	}
	sign := b.signs(y)
	return b.Mul(sign, b.emit(FloorMod{}, b.Mul(x, sign), b.Mul(y, sign)))
}

// RoundDiv is the whole number nearest to times·x/y, and the greater one of two equally
// near, for floats x and y > 0 and a whole number times. It is ⌊(2·times·x + y)/(2·y)⌋:
// only x and y are rounded, each to its own scale.
func (b *Builder) RoundDiv(x, y Value, times int) Value {
	num := b.Add(b.Mul(x, b.number("times", float64(2*times))), y)
	return b.emit(FloorDiv{}, num, b.Mul(y, b.number("two", 2)))
}

package graph

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/internal/refuse"
)

// Test compares each element with 0. The result is a truth value, 1 where the comparison
// holds and 0 elsewhere.
type Test uint8

// The comparisons.
const (
	IsPositive Test = iota
	IsNotNegative
	IsZero
)

var tests = [...]struct {
	name  string
	holds func(x float64) bool
}{
	IsPositive:    {"IsPositive", func(x float64) bool { return x > 0 }},
	IsNotNegative: {"IsNotNegative", func(x float64) bool { return x >= 0 }},
	IsZero:        {"IsZero", func(x float64) bool { return x == 0 }},
}

func (t Test) kind() string { return tests[t].name }

func (t Test) infer(in []operandType) operandType {
	return operandType{shape: in[0].shape, dtype: Bool}
}

func (t Test) eval(in []operand, shape []int) operand {
	return operand{shape: shape, i: convert[int64](apply(in[0].float64s(), t.At))}
}

// At returns 1 if the comparison holds for x, else 0.
func (t Test) At(x float64) float64 { return indicator(tests[t].holds(x)) }

// indicator returns 1 for true and 0 for false.
func indicator(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// Test applies t to each element of x.
func (b *Builder) Test(t Test, x Value) Value { return b.emit(t, x) }

// Compare compares two values, or combines truth values; they broadcast. For computed
// operands it is expanded: a comparison into a Test of the difference, And into a
// product, and so on.
func (b *Builder) Compare(c Comparison, x, y Value) (made Value) {
	defer b.refused(&made)
	if b.plain(x, y) {
		return b.emit(c, x, y)
	}
	// A constant's −∞ is −10^30 here. Compared with finite numbers this gives the same results.
	if c < And && (b.extends(x) && b.Tensor(x) == nil || b.extends(y) && b.Tensor(y) == nil) {
		return b.compareParts(c, x, y)
	}
	types := b.operandTypes(x, y)
	c.infer(types)
	alike(types...)
	switch c {
	case Less:
		return b.Test(IsPositive, b.Sub(y, x))
	case LessOrEqual:
		return b.Test(IsNotNegative, b.Sub(y, x))
	case Greater:
		return b.Test(IsPositive, b.Sub(x, y))
	case GreaterOrEqual:
		return b.Test(IsNotNegative, b.Sub(x, y))
	case And:
		return b.Mul(x, y)
	case Or:
		z := b.Test(IsPositive, b.Add(x, y))
		if b.valid(z) && slices.Equal(b.Shape(x), b.Shape(z)) && slices.Equal(b.Shape(y), b.Shape(z)) {
			z.v.either = []*value{x.v, y.v}
		}
		return z
	case Equal:
		return b.Test(IsZero, b.Sub(x, y))
	case Xor:
		return b.Not(b.Test(IsZero, b.Sub(x, y)))
	}
	return b.Failf("%s is not supported", Kind(c))
}

// Not is 1 − x for a truth value x.
func (b *Builder) Not(x Value) (made Value) {
	defer b.refused(&made)
	if b.plain(x) {
		return b.emit(Not{}, x)
	}
	bools(b.operandType(x))
	return b.Sub(b.made("one", &Tensor{Shape: []int{}, DType: Bool, I64: []int64{1}}), x)
}

// Where is x where cond is 1, and y where it is 0. With a computed condition it becomes
// the sum of two products, or a mask if one of the results is a constant far below any
// score (chosen).
func (b *Builder) Where(cond, x, y Value) Value {
	if !b.valid(cond, x, y) {
		return Value{}
	}
	if t := b.Tensor(x); t != nil && isZero(t) && guards(cond.v, y.v) && slices.Equal(b.common(x, y), b.Shape(y)) {
		return y
	}
	if b.extends(x, y) {
		if !b.pairs(x, y) && b.masks(cond, x, y) {
			v, parts := b.chosen(cond, x, y), func() parts { return b.whereParts(cond, x, y) }
			if b.partial(x) || b.partial(y) {
				return b.follow(v, parts, x, y)
			}
			return b.masking(v, parts)
		}
		return b.pair(Float, b.whereParts(cond, x, y))
	}
	return b.chosen(cond, x, y)
}

// masks says whether cond may turn x or y into the mask of a Softmax: with a computed
// condition, every constant of them that has −∞ must have it, or numbers as low as
// masked, everywhere.
func (b *Builder) masks(cond, x, y Value) bool {
	for _, v := range []Value{x, y} {
		if t := b.Tensor(v); t != nil && v.v.whole != nil && b.Tensor(cond) == nil && !below(t) {
			return false
		}
	}
	return true
}

// chosen is Where for finite values, and for constants with −10^30 in place of −∞.
func (b *Builder) chosen(cond, x, y Value) (made Value) {
	defer b.refused(&made)
	if b.Tensor(cond) != nil {
		return b.emit(Where{}, cond, x, y)
	}
	refuse.If(b.DType(cond) != Bool, "its condition has type %v", b.DType(cond))
	alike(b.operandTypes(x, y)...)
	shape := broadcast(b.Shape(x), b.Shape(y))
	_, ok := Broadcast(shape, b.Shape(cond))
	refuse.If(!ok, "condition of shape %v does not broadcast with %v", b.Shape(cond), shape)
	if t := b.Tensor(y); t != nil && below(t) && b.DType(y).IsFloat() {
		return b.maskWith(cond, x, y)
	}
	if t := b.Tensor(x); t != nil && below(t) && b.DType(x).IsFloat() {
		return b.maskWith(b.Not(cond), y, x)
	}
	for _, v := range []Value{x, y} {
		if t := b.Tensor(v); t != nil && t.DType.IsFloat() {
			for i := range t.Len() {
				if math.Abs(t.At(i)) > mostSelected {
					return b.Failf("its condition depends on the model's input, and one of the results is %g: such masks are supported before a Softmax, where all of that result is at most −10^4", t.At(i))
				}
			}
		}
	}
	dt := b.DType(x)
	return b.Add(b.Mul(b.Cast(cond, dt), x), b.Mul(b.Cast(b.Not(cond), dt), y))
}

// maskWith adds the constant low, which is far below any score, to x where cond is 0. The
// result has the form that a Softmax recognises as masked (see unmask). For other readers
// [Builder.Graph] makes it exact (see unadded).
func (b *Builder) maskWith(cond, x, low Value) Value {
	held := b.Cast(cond, Float)
	below := b.Mul(b.Sub(b.number("one", 1), held), low)
	if t := b.Tensor(x); t != nil && isZero(t) { // the model adds the result to scores itself
		return b.Expand(below, b.Shape(x))
	}
	made := b.Add(x, below)
	if b.valid(made) && operator(made.v) == Op(Add) {
		made.v.node.held = held.v
	}
	return made
}

// unadded makes the result of a Where (n, a sum that maskWith made and that no Softmax has taken in as
// its mask) exactly low where the condition is 0, instead of x + low: it multiplies x by the condition.
func (b *Builder) unadded(n *node) {
	if n.held == nil || n.op != Op(Add) {
		return
	}
	b.At(Kind(n.op), n.name)
	if x := b.Mul(Value{n.in[0]}, Value{n.held}); b.valid(x) {
		n.in = []*value{x.v, n.in[1]}
	}
}

// isZero reports whether all elements are 0.
func isZero(t *Tensor) bool { return t.all(func(x float64) bool { return x == 0 }) }

// mostSelected is the largest magnitude of a constant that a computed condition may
// select. The scale that a larger one needs, such as one that stands for infinity, would
// leave the other values no precision.
const mostSelected = 3e4

// Sign is 1 where x is positive, −1 where it is negative, and 0 where it is 0.
func (b *Builder) Sign(x Value) Value {
	if b.Tensor(x) != nil {
		return b.emit(Scalar{Sign, nil}, x)
	}
	dt := b.DType(x)
	positive, negative := b.Test(IsPositive, x), b.Test(IsPositive, b.Negative(x))
	return b.Sub(b.Cast(positive, dt), b.Cast(negative, dt))
}

// Negative is −x.
func (b *Builder) Negative(x Value) Value { return b.Apply(Neg, x) }

// like returns the number v as a constant of shape [] with the type of x.
func (b *Builder) like(x Value, v float64) Value {
	if dt := b.DType(x); !dt.IsFloat() {
		return b.made("value", &Tensor{Shape: []int{}, DType: dt, I64: []int64{int64(v)}})
	}
	return b.number("value", v)
}

// constantLike is like for a tensor of the given shape. The constant is Public. If x has integers,
// the numbers must be whole.
func (b *Builder) constantLike(x Value, what string, shape []int, v []float64) Value {
	if dt := b.DType(x); !dt.IsFloat() {
		return b.made(what, &Tensor{Shape: shape, DType: dt, I64: convert[int64](v), Public: true})
	}
	return b.made(what, &Tensor{Shape: shape, DType: Float, F32: convert[float32](v), Public: true})
}

package graph

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/internal/elementary"
	"github.com/prove-model/prove-model/internal/refuse"
)

// Arithmetic combines two operands element by element; they broadcast as in
// NumPy.
type Arithmetic uint8

// The operators on two numbers.
const (
	Add Arithmetic = iota
	Sub
	Mul
	Div
	// These serve constants only. For computed operands [Builder.Min], [Builder.Max],
	// [Builder.Pow] and [Builder.Mod] expand them.
	Min
	Max
	Power
	Mod  // remainder with the sign of the divisor, on integers
	Fmod // remainder with the sign of the dividend
)

// arithmetic has the formulas of each operator. A formula is nil if the operator does not
// accept that kind of number.
var arithmetic = [...]struct {
	name   string
	floats func(a, b float64) float64
	ints   func(a, b int64) int64
}{
	Add:   {"Add", sum[float64], sum[int64]},
	Sub:   {"Sub", func(a, b float64) float64 { return a - b }, func(a, b int64) int64 { return a - b }},
	Mul:   {"Mul", multiplied[float64], multiplied[int64]},
	Div:   {"Div", func(a, b float64) float64 { return a / b }, func(a, b int64) int64 { return a / b }},
	Min:   {"Min", smaller[float64], smaller[int64]},
	Max:   {"Max", larger[float64], larger[int64]},
	Power: {"Power", elementary.Pow, nil},
	Mod: {"Mod", nil, func(a, b int64) int64 {
		r := a % b
		if r != 0 && (r < 0) != (b < 0) {
			r += b
		}
		return r
	}},
	Fmod: {"Fmod", math.Mod, func(a, b int64) int64 { return a % b }},
}

func sum[T number](a, b T) T        { return a + b }
func multiplied[T number](a, b T) T { return a * b }
func smaller[T number](a, b T) T    { return min(a, b) }
func larger[T number](a, b T) T     { return max(a, b) }

func (k Arithmetic) kind() string { return arithmetic[k].name }

// Of returns the operator as a function of two floats; nil if it accepts only integers.
func (k Arithmetic) Of() func(a, b float64) float64 { return arithmetic[k].floats }

func (k Arithmetic) constantsOnly() bool { return k > Div }

func (Arithmetic) takes() operands { return operands{2, 2, nil} }

func (k Arithmetic) infer(in []operandType) operandType {
	if k != Power {
		alike(in...)
	}
	return operandType{shape: broadcast(in[0].shape, in[1].shape), dtype: in[0].dtype}
}

func (k Arithmetic) eval(in []operand, shape []int) operand {
	f := arithmetic[k]
	if a, b := in[0], in[1]; a.i != nil && b.i != nil {
		refuse.If(f.ints == nil, "%s has no evaluation on integers", f.name)
		refuse.If((k == Div || k == Mod || k == Fmod) && slices.Contains(b.i, 0), "division by zero")
		return operand{shape: shape, i: zipWith(a.i, b.i, a.shape, b.shape, shape, f.ints)}
	}
	refuse.If(f.floats == nil, "%s has no evaluation on floats", f.name)
	return operand{shape: shape, f: zipWith(in[0].float64s(), in[1].float64s(), in[0].shape, in[1].shape, shape, f.floats)}
}

// Add is x + y, broadcasting.
func (b *Builder) Add(x, y Value) Value { return b.emit(Add, x, y) }

// Sub is x − y, broadcasting.
func (b *Builder) Sub(x, y Value) Value { return b.emit(Sub, x, y) }

// Mul is x·y, broadcasting.
func (b *Builder) Mul(x, y Value) Value { return b.emit(Mul, x, y) }

// Div is x/y, broadcasting. If only y is constant it becomes a product with the
// reciprocal. If both are integers the quotient is rounded towards zero.
func (b *Builder) Div(x, y Value) Value {
	if !b.valid(x, y) {
		return Value{}
	}
	if b.Tensor(x) == nil || b.Tensor(y) == nil {
		if !b.DType(x).IsFloat() {
			return b.divideInts(x, y)
		}
		if b.Tensor(y) != nil && b.DType(y).IsFloat() {
			q := b.Mul(x, b.Apply(Reciprocal, y))
			if b.valid(q) && operator(q.v) == Op(Mul) {
				q.v.node.over = y.v
			}
			return q
		}
	}
	return b.emit(Div, x, y)
}

// wholeOf returns x for a function that gives its whole part. If x is a quotient by a constant, the float model multiplies by a
// reciprocal of float64 there: 49 times the float32 nearest to 1/7 is above 7.
func (b *Builder) wholeOf(x Value) Value {
	n := x.of().node
	if n == nil || n.over == nil || b.extends(x) {
		return x
	}
	over := n.over.tensor
	t := &Tensor{Shape: over.Shape, DType: Float, Public: over.Public}
	t.Exact = filled(over.Len(), func(i int) float64 { return 1 / over.At(i) })
	t.F32 = convert[float32](t.Exact)
	if FirstNonFinite(t.F32) >= 0 || slices.Equal(t.Exact, convert[float64](t.F32)) {
		return x
	}
	return b.emit(Mul, Value{n.in[0]}, b.made("reciprocal", t))
}

// Max is the larger of x and y, broadcasting. It becomes y + relu(x − y), or a Clip if
// one of them is a constant of one element.
func (b *Builder) Max(x, y Value) Value {
	if b.plain(x, y) {
		return b.emit(Max, x, y)
	}
	if v, c, ok := b.byNumber(x, y); ok && !b.pairs(x, y) && b.Tensor(v) == nil {
		return b.Reshape(b.Clip(v, c, math.Inf(1)), b.common(x, y))
	}
	if b.extends(x, y) && !b.partial(x, y) {
		return b.pair(Float, b.greatestParts(x, y, false))
	}
	out := b.Add(y, b.Apply(Relu, b.Sub(x, y)))
	if b.extends(x, y) {
		return b.follow(out, func() parts { return b.greatestParts(x, y, false) }, x, y)
	}
	return out
}

// Min is the smaller of x and y, broadcasting. It becomes x − relu(x − y), or a Clip if
// one of them is a constant of one element.
func (b *Builder) Min(x, y Value) Value {
	if b.plain(x, y) {
		return b.emit(Min, x, y)
	}
	if b.extends(x, y) && !b.partial(x, y) {
		return b.pair(Float, b.greatestParts(x, y, true))
	}
	if v, c, ok := b.byNumber(x, y); ok {
		return b.Reshape(b.Clip(v, math.Inf(-1), c), b.common(x, y))
	}
	out := b.Sub(x, b.Apply(Relu, b.Sub(x, y)))
	if b.extends(x, y) {
		return b.follow(out, func() parts { return b.greatestParts(x, y, true) }, x, y)
	}
	return out
}

// byNumber returns, if x or y is a constant of one element, the other operand and the
// constant's number; ok is false if neither is.
func (b *Builder) byNumber(x, y Value) (v Value, c float64, ok bool) {
	if b.Tensor(x) != nil {
		x, y = y, x
	}
	t := b.Tensor(y)
	if t == nil || t.Len() != 1 {
		return Value{}, 0, false
	}
	return x, t.At(0), true
}

// common returns the shape that two values broadcast to. If there is none, it records an
// error.
func (b *Builder) common(x, y Value) []int {
	shape, err := refuse.Result(func() []int { return broadcast(b.Shape(x), b.Shape(y)) })
	if err != nil {
		b.Failf("%v", err)
	}
	return shape
}

// Pow is x to the power of e. A constant exponent of 2 or 3 becomes products, ½ a root,
// −1 a reciprocal, and any other constant the function Pow; a computed exponent gives
// exp(e·log x).
func (b *Builder) Pow(x, e Value) Value {
	if !b.valid(x, e) {
		return Value{}
	}
	t := b.Tensor(e)
	if b.Tensor(x) != nil && t != nil {
		return b.emit(Power, x, e)
	}
	shape := b.common(x, e)
	switch {
	case b.Failed():
		return Value{}
	case t == nil:
		return b.exponential(x, e)
	case t.Len() == 0:
		return b.Failf("its exponent %s is empty", Quote(b.Name(e)))
	case Size(shape) != Size(b.Shape(x)):
		return b.Failf("its exponent of shape %v widens the base of shape %v", t.Shape, b.Shape(x))
	}
	if _, same := constant(e.v); !same {
		return b.powers(x, t, shape)
	}
	y := x
	switch exponent := t.At(0); {
	case exponent == 1:
	case exponent == 2:
		y = b.Mul(x, x)
	case exponent == 3:
		y = b.Mul(b.InType(b.Mul(x, x)), x)
	case !b.DType(x).IsFloat() && exponent == math.Trunc(exponent) && exponent > 3 && exponent <= 8:
		for range int(exponent) - 1 {
			y = b.InType(b.Mul(y, x))
		}
	case !b.DType(x).IsFloat():
		return b.Failf("power %v of integers that depend on the model's input", exponent)
	case exponent == 0.5:
		y = b.Apply(Sqrt, x)
	case exponent == -1:
		y = b.Apply(Reciprocal, x)
	default:
		y = b.Apply(Pow, x, exponent)
	}
	return b.Reshape(y, shape)
}

// maxExponents bounds the number of different exponents of a Pow whose exponent is a
// constant tensor. Each exponent takes a function of its own.
const maxExponents = 64

// powers is x to the power of a constant tensor. It gathers the elements that have the
// same exponent, computes them together, and puts the results back in their places.
func (b *Builder) powers(x Value, e *Tensor, shape []int) (made Value) {
	defer b.refused(&made)
	b.needRoom(2, Size(shape))
	of := map[float64][]int{} // indices of elements by exponent
	var exponents []float64
	tables := broadcastTables(e.Shape, shape)
	walk(shape, tables, tables, func(i, j, _ int) {
		v := e.At(j)
		if of[v] == nil {
			exponents = append(exponents, v)
		}
		of[v] = append(of[v], i)
	})
	refuse.If(len(exponents) > maxExponents,
		"it has %d different exponents; at most %d are supported", len(exponents), maxExponents)
	flat := b.Reshape(x, []int{Size(shape)})
	parts := make([]Value, len(exponents))
	back := make([]int, Size(shape))
	n := 0
	for k, v := range exponents {
		parts[k] = b.Pow(b.Gather(flat, 0, of[v]), b.Number(v))
		for _, i := range of[v] {
			back[i] = n
			n++
		}
	}
	return b.Reshape(b.Gather(b.Concat(0, parts...), 0, back), shape)
}

// PRelu is x, scaled by a slope where it is negative. The slope broadcasts to x.
type PRelu struct{}

func (PRelu) takes() operands { return operands{2, 2, alike} }

func (PRelu) infer(in []operandType) operandType {
	refuse.If(!slices.Equal(broadcast(in[0].shape, in[1].shape), in[0].shape),
		"slope of shape %v does not broadcast to %v", in[1].shape, in[0].shape)
	return operandType{shape: in[0].shape, dtype: in[0].dtype}
}

func (PRelu) eval(in []operand, shape []int) operand {
	return operand{shape: shape, f: zipWith(in[0].float64s(), in[1].float64s(), in[0].shape, in[1].shape, shape, leaky)}
}

// PRelu is x, scaled by a slope that broadcasts to it where it is negative.
func (b *Builder) PRelu(x, slope Value) Value {
	if b.valid(x, slope) && b.Tensor(slope) == nil {
		if !spreads(b.Shape(slope), b.Shape(x)) {
			return b.Failf("slope of shape %v does not broadcast to %v", b.Shape(slope), b.Shape(x))
		}
		return b.Sub(b.Apply(Relu, x), b.Mul(slope, b.Apply(Relu, b.Negative(x))))
	}
	return b.emit(PRelu{}, x, slope)
}

package graph

import (
	"math"

	"github.com/prove-model/prove-model/internal/refuse"
)

// smallFormat describes a floating-point type of few bits (8 or fewer, or those of
// halves). Its numbers have mantissa binary digits after the first one, and exponents of
// at least least. Numbers below 2^least are subnormal: multiples of 2^(least−mantissa).
// The largest finite number is most.
type smallFormat struct {
	mantissa, least int
	most            float64
	infinite        bool // the type has infinities
}

// smallFormats has the types of https://onnx.ai/onnx/technical/float8.html and
// float4.html, except Float8E8M0: its numbers range from 2^−127 to 2^127, and no single
// scale holds them.
var smallFormats = map[DType]smallFormat{
	Float8E4M3FN: {3, -6, 448, false}, Float8E4M3FNUZ: {3, -7, 240, false},
	Float8E5M2: {2, -14, 57344, true}, Float8E5M2FNUZ: {2, -15, 57344, false}, Float4E2M1: {1, 0, 6, false},
}

// Number decodes bits as a number of d, which is a floating-point type of 8 bits or
// fewer.
func (d DType) Number(bits byte) float32 {
	if d == Float8E8M0 { // a power of two, without a sign
		if bits == 0xff {
			return float32(math.NaN())
		}
		return float32(math.Ldexp(1, int(bits)-127))
	}
	f, sign := smallFormats[d], byte(1)<<(d.Bits()-1)
	exponent, fraction := int(bits&(sign-1))>>f.mantissa, int(bits)&(1<<f.mantissa-1)
	digits := fraction
	if exponent == 0 {
		exponent = 1 // subnormal
	} else {
		digits |= 1 << f.mantissa
	}
	v := math.Ldexp(float64(digits), exponent-1+f.least-f.mantissa)
	switch {
	case v > f.most && f.infinite && fraction == 0:
		v = math.Inf(1)
	case v > f.most, bits == sign && (d == Float8E4M3FNUZ || d == Float8E5M2FNUZ): // these two have NaN in place of −0
		return float32(math.NaN())
	}
	if bits&sign != 0 {
		v = -v
	}
	return float32(v)
}

// at returns the number of the type that is nearest to x; of two equally near, the one
// whose last digit is even. Beyond the largest number it returns the largest, with the
// sign of x.
func (f smallFormat) at(x float64) float64 {
	unit := math.Ldexp(1, f.least-f.mantissa)
	if a := math.Abs(x); a > 0 {
		_, e := math.Frexp(a)
		unit = math.Ldexp(1, max(e-1, f.least)-f.mantissa)
	}
	return min(max(math.RoundToEven(x/unit)*unit, -f.most), f.most)
}

// beyond returns the limit above which numbers are too large for the type, and whether
// the limit itself is too large as well. The limit is half a unit in the last place above
// the largest number. It rounds up, and so is too large, if the last digit of the largest
// number is odd.
func (f smallFormat) beyond() (limit float64, itself bool) {
	_, e := math.Frexp(f.most)
	unit := math.Ldexp(1, e-1-f.mantissa)
	return f.most + float64(unit/2), math.Mod(f.most/unit, 2) == 1
}

// toSmall rounds floats to a type of 8 bits or fewer. The unit of the rounding depends on
// the size of a number. So a computed value is rounded for every exponent of the type, and
// the result for its own exponent is selected. Without saturation a number that is too
// large becomes infinite, or NaN if the type has no infinities.
func (b *Builder) toSmall(x Value, to DType, saturate bool) Value {
	f, ok := smallFormats[to]
	switch {
	case !ok:
		return b.Failf("cast to %v is not supported: no one scale holds numbers from 2^−127 to 2^127", to)
	case !b.DType(x).IsFloat():
		x = b.Cast(x, Float)
	}
	if !saturate && to != Float4E2M1 {
		return b.pair(Float, b.beyondSmall(x, to, f))
	}
	if t := b.Tensor(x); t != nil {
		v := filled(t.Len(), func(i int) float32 { return float32(f.at(t.At(i))) })
		return b.made("Cast", &Tensor{Shape: t.Shape, DType: Float, F32: v, Public: t.Public})
	}
	x = b.Clip(x, -f.most, f.most)
	size := b.Apply(Abs, x)
	on := func(e int) Value { // x rounded for exponent e
		unit := math.Ldexp(1, e-f.mantissa)
		return b.Mul(b.Apply(Round, b.Mul(x, b.number("scale", 1/unit))), b.number("unit", unit))
	}
	y := on(f.least)
	_, top := math.Frexp(f.most)
	for e := f.least + 1; e < top; e++ {
		y = b.Where(b.Compare(GreaterOrEqual, size, b.number("power", math.Ldexp(1, e))), on(e), y)
	}
	return y
}

// beyondSmall rounds a finite x to a type of 8 bits. Numbers that are too large become
// infinite, or NaN if the type has no infinity.
func (b *Builder) beyondSmall(x Value, to DType, f smallFormat) parts {
	limit, itself := f.beyond()
	above, below := Greater, Less
	if itself {
		above, below = GreaterOrEqual, LessOrEqual
	}
	p := parts{pos: b.Compare(above, x, b.number("limit", limit)), neg: b.Compare(below, x, b.number("limit", -limit))}
	p.fin = b.toSmall(b.Where(b.or(p.pos, p.neg), b.number("zero", 0), x), to, true)
	if !f.infinite {
		p = parts{fin: p.fin, nan: b.or(p.pos, p.neg)}
	}
	return p
}

// castParts casts a value that may have NaN or infinities. As bool they are 1; they
// cannot be cast to an integer type.
func (b *Builder) castParts(x Value, to DType, saturate bool) Value {
	p := func() parts { return b.parts(x) }
	f, small := smallFormats[to]
	switch {
	case to == Bool:
		return b.or(b.Cast(p().fin, Bool), p().special(b))
	case !to.IsFloat():
		return b.Failf("%s may be NaN or infinite here, and no integer stands for that", Quote(b.Name(x)))
	case to.Small() && !small:
		return b.toSmall(x, to, saturate) // returns the error
	case !small && b.Tensor(x) != nil: // a constant of another type
		t := x.v.tensor
		return b.masking(b.made("Cast", &Tensor{Shape: t.Shape, DType: Float, F32: t.F32, Public: t.Public}), p)
	case !small:
		return x
	}
	of := b.parts(x)
	of.fin = b.within(of.fin, f)
	if !saturate && to != Float4E2M1 {
		q := b.beyondSmall(of.fin, to, f)
		if !f.infinite {
			of.nan, of.pos, of.neg = of.special(b), Value{}, Value{}
		}
		return b.pair(Float, parts{q.fin, b.or(of.nan, q.nan), b.or(of.pos, q.pos), b.or(of.neg, q.neg)})
	}
	fin := of.fin
	if special := of.special(b); b.valid(special) {
		fin = b.Where(special, b.number("zero", 0), b.Clip(fin, -f.most, f.most))
	}
	most := func(is Value) Value { // most where is holds; as two factors, as one as large as most may count as a mask's
		const part = 1 << 8
		return b.Mul(b.Mul(b.Cast(is, Float), b.number("part", part)), b.number("largest", f.most/part))
	}
	if b.valid(of.pos) {
		fin = b.Add(fin, most(of.pos))
	}
	if b.valid(of.neg) {
		fin = b.Sub(fin, most(of.neg))
	}
	fin = b.toSmall(fin, to, true)
	if to == Float4E2M1 { // it has no NaN, and ONNX's reference gives 0 instead
		return fin
	}
	return b.pair(Float, parts{fin: fin, nan: of.nan})
}

// within returns x, which is rounded to the small type next. If x is the Finite of an
// input, it sets Reach a little above the type's largest number, as larger numbers need
// not be distinguished.
func (b *Builder) within(x Value, f smallFormat) Value {
	if operator(x.v) != Op(Finite{}) {
		return x
	}
	limit, _ := f.beyond()
	return b.emit(Finite{Reach: 1.125 * limit}, Value{x.v.node.in[0]})
}

// halves has the floating-point types of 16 bits.
var halves = map[DType]smallFormat{Float16: {10, -14, 65504, true}, BFloat16: {7, -126, 0x1.fep127, true}}

// IsHalf says whether d is a floating-point type of 16 bits.
func (d DType) IsHalf() bool { _, is := halves[d]; return is }

// Narrow rounds floats to a type of 16 bits. Numbers that are too large become infinite. Only
// float runs compute it (see [Graph.Typed]).
type Narrow struct{ To DType }

func (Narrow) takes() operands { return operands{1, 1, floats} }

func (n Narrow) infer(in []operandType) operandType {
	refuse.If(!n.To.IsHalf(), "%v is no floating-point type of 16 bits", n.To)
	return in[0]
}

func (n Narrow) eval(in []operand, shape []int) operand {
	return operand{shape: shape, f: apply(in[0].float64s(), halves[n.To].narrow)}
}

// narrow rounds a number to a type of 16 bits. Numbers as low as those that stand for −∞
// stay as they are.
func (f smallFormat) narrow(x float64) float64 {
	limit, _ := f.beyond() // too large itself, as the largest number of both types ends in an odd digit
	switch {
	case x <= leastFloat/2 || x != x:
		return x
	case math.Abs(x) >= limit:
		return math.Copysign(math.Inf(1), x)
	}
	return f.at(x)
}

// Narrow rounds x to a floating-point type of 16 bits. Values that may not be finite stay as
// they are.
func (b *Builder) Narrow(x Value, to DType) Value {
	if !b.valid(x) || b.extends(x) || b.Tensor(x) != nil {
		return x
	}
	return b.emit(Narrow{to}, x)
}

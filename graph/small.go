package graph

import "math"

// smallFormat tells the numbers of a floating-point type of 8 bits or fewer: those of up
// to mantissa binary digits behind the first, from the exponent least on, below which
// they are on one scale, up to most.
type smallFormat struct {
	mantissa, least int
	most            float64
}

// smallFormats are the types of https://onnx.ai/onnx/technical/float8.html and
// float4.html but for Float8E8M0, whose numbers, from 2^−127 to 2^127, no one scale holds.
var smallFormats = map[DType]smallFormat{
	Float8E4M3FN: {3, -6, 448}, Float8E4M3FNUZ: {3, -7, 240},
	Float8E5M2: {2, -14, 57344}, Float8E5M2FNUZ: {2, -15, 57344}, Float4E2M1: {1, 0, 6},
}

// at is the number of the type that is nearest to x; of two as near, the one whose last
// digit is even; the largest where there is none as large.
func (f smallFormat) at(x float64) float64 {
	unit := math.Ldexp(1, f.least-f.mantissa)
	if a := math.Abs(x); a > 0 {
		_, e := math.Frexp(a)
		unit = math.Ldexp(1, max(e-1, f.least)-f.mantissa)
	}
	return min(max(math.RoundToEven(x/unit)*unit, -f.most), f.most)
}

// toSmall rounds floats to a type of 8 bits or fewer: on the scale that numbers of their
// size have there. What is computed is rounded on each of these and chosen by size.
func (b *Builder) toSmall(x Value, to DType) Value {
	f, ok := smallFormats[to]
	switch {
	case !ok:
		return b.Failf("cast to %v is not supported: no one scale holds numbers from 2^−127 to 2^127", to)
	case !b.DType(x).IsFloat():
		x = b.Cast(x, Float)
	}
	if t := b.Tensor(x); t != nil {
		v := make([]float32, t.Len())
		for i := range v {
			v[i] = float32(f.at(t.At(i)))
		}
		return b.floats("Cast", t.Shape, v)
	}
	x = b.Clip(x, -f.most, f.most)
	size := b.Apply(Abs, x)
	on := func(e int) Value { // for exponent e
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

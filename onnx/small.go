package onnx

import (
	"math"

	"github.com/prove-model/prove-model/graph"
)

// pattern returns the bits of element i of packed elements of 2, 4 or 8 bits.
func pattern(raw []byte, i, bits int) byte {
	at := i * bits
	return raw[at/8] >> (at % 8) & (1<<bits - 1)
}

// smallFloat describes a floating-point type of 4 or 8 bits.
type smallFloat struct {
	mantissa, bias int
	nan            func(p byte) bool
	inf            func(p byte) bool
}

func never(byte) bool             { return false }
func only(x byte) func(byte) bool { return func(p byte) bool { return p == x } }
func magnitude(x byte) func(byte) bool {
	return func(p byte) bool { return p&0x7f == x }
}

// smallFloats are the types of https://onnx.ai/onnx/technical/float8.html and
// float4.html.
var smallFloats = map[graph.DType]smallFloat{
	graph.Float8E4M3FN:   {3, 7, magnitude(0x7f), never},
	graph.Float8E4M3FNUZ: {3, 8, only(0x80), never},
	graph.Float8E5M2:     {2, 15, func(p byte) bool { return p&0x7f > 0x7c }, magnitude(0x7c)},
	graph.Float8E5M2FNUZ: {2, 16, only(0x80), never},
	graph.Float4E2M1:     {1, 1, never, never},
}

// fromSmall widens a pattern of 4 or 8 bits.
func fromSmall(dt graph.DType, p byte) float32 {
	if dt == graph.Float8E8M0 { // a power of two, without a sign
		if p == 0xff {
			return float32(math.NaN())
		}
		return float32(math.Ldexp(1, int(p)-127))
	}
	f := smallFloats[dt]
	switch {
	case f.nan(p):
		return float32(math.NaN())
	case f.inf(p):
		return float32(math.Inf(1 - 2*int(p>>7)))
	}
	top := dt.Bits() - 1
	exponent, fraction := int(p&(1<<top-1))>>f.mantissa, int(p)&(1<<f.mantissa-1)
	if exponent == 0 {
		exponent = 1 // subnormal
	} else {
		fraction |= 1 << f.mantissa
	}
	v := math.Ldexp(float64(fraction), exponent-f.bias-f.mantissa)
	if p>>top&1 == 1 {
		v = -v
	}
	return float32(v)
}

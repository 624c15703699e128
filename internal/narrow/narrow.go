// Package narrow widens floats of 8 and 16 bits to float32, which holds all of
// them exactly.
package narrow

import "math"

// BFloat16 widens a bfloat16 bit pattern.
func BFloat16(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }

// Float16 widens an IEEE 754 binary16 bit pattern.
func Float16(b uint16) float32 {
	sign := uint32(b>>15) << 31
	exp, frac := uint32(b>>10)&31, uint32(b)&1023
	switch exp {
	case 31:
		return math.Float32frombits(sign | 255<<23 | frac<<13)
	case 0: // zero or subnormal: frac · 2^−24
		v := float32(frac) / (1 << 24)
		if sign != 0 {
			v = -v
		}
		return v
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}

// E4M3 widens an 8-bit float with 4 bits of exponent and 3 of fraction, the "fn"
// variant: no infinities, NaN where all bits but the sign are set.
func E4M3(b uint8) float32 {
	if b&0x7f == 0x7f {
		return float32(math.NaN())
	}
	exp, frac := uint32(b>>3)&15, uint32(b)&7
	v := float32(frac) / (1 << 9) // zero or subnormal: frac · 2^−9
	if exp > 0 {
		v = math.Float32frombits((exp+120)<<23 | frac<<20)
	}
	if b&0x80 != 0 {
		v = -v
	}
	return v
}

// E5M2 widens an 8-bit float with 5 bits of exponent and 2 of fraction: the upper
// half of a binary16.
func E5M2(b uint8) float32 { return Float16(uint16(b) << 8) }

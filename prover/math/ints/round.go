package ints

import "math"

// Round sets dst[i] to src[i]·2^exponent, rounded to the nearest whole number, of two to
// the even one, times 2^shift. The result must fit. dst and src are of one length.
func Round(dst []int32, src []float32, exponent, shift int) {
	n := 0
	// Where 2^exponent is a normal number, so is the product, or too small for any but 0.
	if exponent >= -126 && exponent <= 127 {
		n = roundFast(dst, src, float32(math.Ldexp(1, exponent)), shift)
	}
	scale := math.Ldexp(1, exponent)
	dst = dst[n:len(src)]
	for i, x := range src[n:] {
		dst[i] = int32(math.RoundToEven(float64(x)*scale)) << shift
	}
}

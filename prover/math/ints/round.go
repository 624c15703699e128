package ints

import "math"

// Round sets dst[i] to src[i]·2^exponent, rounded to the nearest whole number, of two to
// the even one, times 2^shift. The result must fit. dst and src are of one length.
func Round(dst []int32, src []float32, exponent, shift int) {
	n := 0
	// Where 2^exponent is a normal number, so is the product, or too small for any but 0.
	if exponent >= -126 && exponent <= 127 {
		n = prefix(len(src))
	}
	dst = dst[:len(src)]
	scale := math.Ldexp(1, exponent)
	if n > 0 {
		roundVec(&dst[0], &src[0], uint64(n), float32(scale), uint64(shift))
	}
	for i, x := range src[n:] {
		dst[n+i] = int32(math.RoundToEven(float64(x)*scale)) << shift
	}
}

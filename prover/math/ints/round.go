package ints

import "math"

// Round sets dst[i] to 2^shift times the whole number nearest to src[i]·2^exponent, the even one of two that
// are equally near. The result must fit in 32 bits. dst and src must have the same length.
func Round(dst []int32, src []float32, exponent, shift int) {
	n := 0
	// The assembly multiplies by 2^exponent in float32. If that is a normal number, the product is exact, or so small that it is rounded to
	// 0.
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

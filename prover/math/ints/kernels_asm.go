//go:build amd64 && !purego

package ints

import "github.com/prove-model/prove-model/internal/simd"

//go:generate go run -C ../../../scripts/asm ./ints -out ../../prover/math/ints/kernels_amd64.s -stubs ../../prover/math/ints/kernels_amd64.go -pkg ints

// level is the instruction set in use; tests lower it.
var level = simd.Best()

// Each function here widens, narrows or rounds the longest prefix that the assembly can,
// and returns its length.

func widen8Fast(dst []int32, src []int8) int {
	n := len(src) &^ 15
	if level == simd.None || n == 0 {
		return 0
	}
	_ = dst[n-1]
	if level == simd.AVX512 {
		widen8AVX512(&dst[0], &src[0], uint64(n))
	} else {
		widen8AVX2(&dst[0], &src[0], uint64(n))
	}
	return n
}

func widen16Fast(dst []int32, src []int16) int {
	n := len(src) &^ 15
	if level == simd.None || n == 0 {
		return 0
	}
	_ = dst[n-1]
	if level == simd.AVX512 {
		widen16AVX512(&dst[0], &src[0], uint64(n))
	} else {
		widen16AVX2(&dst[0], &src[0], uint64(n))
	}
	return n
}

// narrowFast says as well whether all of the prefix fit.
func narrowFast[T int8 | int16](dst []T, src []int32) (n int, fit bool) {
	n = len(src) &^ 15
	if level == simd.None || n == 0 {
		return 0, true
	}
	lost, wide := uint64(0), level == simd.AVX512
	_ = dst[n-1]
	switch dst := any(dst).(type) {
	case []int8:
		if wide {
			lost = narrow8AVX512(&dst[0], &src[0], uint64(n))
		} else {
			lost = narrow8AVX2(&dst[0], &src[0], uint64(n))
		}
	case []int16:
		if wide {
			lost = narrow16AVX512(&dst[0], &src[0], uint64(n))
		} else {
			lost = narrow16AVX2(&dst[0], &src[0], uint64(n))
		}
	}
	return n, lost == 0
}

func roundFast(dst []int32, src []float32, scale float32, shift int) int {
	n := len(src) &^ 15
	if level == simd.None || n == 0 {
		return 0
	}
	_ = dst[n-1]
	if level == simd.AVX512 {
		roundAVX512(&dst[0], &src[0], uint64(n), scale, uint64(shift))
	} else {
		roundAVX2(&dst[0], &src[0], uint64(n), scale, uint64(shift))
	}
	return n
}

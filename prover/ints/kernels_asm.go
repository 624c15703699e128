//go:build amd64 && !purego

package ints

import "github.com/prove-model/prove-model/prover/internal/simd"

//go:generate go run -C ../../scripts/asm ./ints -out ../../prover/ints/kernels_amd64.s -stubs ../../prover/ints/kernels_amd64.go -pkg ints

// level is the instruction set in use; tests lower it.
var level = simd.Best()

// Each function here widens the longest prefix that the assembly can, and returns
// its length.

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

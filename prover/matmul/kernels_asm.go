//go:build amd64 && !purego

package matmul

import "github.com/prove-model/prove-model/prover/internal/simd"

//go:generate go run -C ../../scripts/asm ./matmul -out ../../prover/matmul/kernels_amd64.s -stubs ../../prover/matmul/kernels_amd64.go -pkg matmul

// level is the instruction set in use; tests lower it.
var level = simd.Best()

// Each function here does the longest prefix of s, or of the sum, that the
// assembly can, and returns its length.

func intRowsFast(s []int64, x, rows []int32, stride int) int {
	n := len(s) &^ (lanes - 1)
	if level == simd.None || n == 0 || len(x) == 0 {
		return 0
	}
	_ = rows[(len(x)-1)*stride+n-1]
	if level == simd.AVX512 {
		intRowsAVX512(&s[0], uint64(n), &x[0], uint64(len(x)), &rows[0], uint64(stride))
	} else {
		intRowsAVX2(&s[0], uint64(n), &x[0], uint64(len(x)), &rows[0], uint64(stride))
	}
	return n
}

func floatRowsFast(s, x, rows []float64, stride int) int {
	n := len(s) &^ (lanes - 1)
	if level == simd.None || n == 0 || len(x) == 0 {
		return 0
	}
	_ = rows[(len(x)-1)*stride+n-1]
	if level == simd.AVX512 {
		floatRowsAVX512(&s[0], uint64(n), &x[0], uint64(len(x)), &rows[0], uint64(stride))
	} else {
		floatRowsAVX2(&s[0], uint64(n), &x[0], uint64(len(x)), &rows[0], uint64(stride))
	}
	return n
}

func intDotFast(a, b []int32) (int, int64) {
	n := len(a) &^ 15
	if level == simd.None || n == 0 {
		return 0, 0
	}
	_ = b[n-1]
	if level == simd.AVX512 {
		return n, intDotAVX512(&a[0], &b[0], uint64(n))
	}
	return n, intDotAVX2(&a[0], &b[0], uint64(n))
}

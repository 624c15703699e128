//go:build amd64 && !purego

package matmul

import (
	"golang.org/x/sys/cpu"

	"github.com/prove-model/prove-model/internal/simd"
	"github.com/prove-model/prove-model/prover/math/ints"
)

//go:generate go run -C ../../../scripts/asm ./matmul -out ../../prover/circuit/matmul/kernels_amd64.s -stubs ../../prover/circuit/matmul/kernels_amd64.go -pkg matmul

// level is the instruction set in use; tests lower it.
var level = simd.Best()

// Each function here computes the longest prefix of s, or of the sum, that the assembly
// can compute, and returns its length.

func intRowsFast[T ints.Integer](s []int64, x []int32, rows []T, stride int) int {
	n := len(s) &^ (lanes - 1)
	if level == simd.None || n == 0 || len(x) == 0 {
		return 0
	}
	_ = rows[(len(x)-1)*stride+n-1]
	size, k, step := uint64(n), uint64(len(x)), uint64(stride)
	switch rows := any(rows).(type) {
	case []int8:
		if level == simd.AVX512 {
			intRowsOf8AVX512(&s[0], size, &x[0], k, &rows[0], step)
		} else {
			intRowsOf8AVX2(&s[0], size, &x[0], k, &rows[0], step)
		}
	case []int16:
		if level == simd.AVX512 {
			intRowsOf16AVX512(&s[0], size, &x[0], k, &rows[0], step)
		} else {
			intRowsOf16AVX2(&s[0], size, &x[0], k, &rows[0], step)
		}
	case []int32:
		if level == simd.AVX512 {
			intRowsAVX512(&s[0], size, &x[0], k, &rows[0], step)
		} else {
			intRowsAVX2(&s[0], size, &x[0], k, &rows[0], step)
		}
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

// inPairsFast reports whether there is assembly for pairs.
func inPairsFast() bool { return level != simd.None }

func pairRowsFast(s []int64, x, rows []int16, stride int) int {
	n, k := len(s)&^15, len(x)/2
	if level == simd.None || n == 0 || k == 0 {
		return 0
	}
	_ = rows[2*((k-1)*stride+n)-1]
	if level == simd.AVX512 && pairsOf512 {
		pairRowsAVX512(&s[0], uint64(n), &x[0], uint64(k), &rows[0], uint64(stride))
	} else {
		pairRowsAVX2(&s[0], uint64(n), &x[0], uint64(k), &rows[0], uint64(stride))
	}
	return n
}

// pairsOf512 says whether the processor can multiply pairs of 16-bit numbers in 512-bit
// registers and add them up (AVX-512 VNNI).
var pairsOf512 = cpu.X86.HasAVX512VNNI

func intDotFast[T ints.Integer](a []int32, b []T) (int, int64) {
	n := len(a) &^ 15
	if level == simd.None || n == 0 {
		return 0, 0
	}
	_ = b[n-1]
	wide := level == simd.AVX512
	var sum int64
	switch b := any(b).(type) {
	case []int8:
		if wide {
			sum = intDotOf8AVX512(&a[0], &b[0], uint64(n))
		} else {
			sum = intDotOf8AVX2(&a[0], &b[0], uint64(n))
		}
	case []int16:
		if wide {
			sum = intDotOf16AVX512(&a[0], &b[0], uint64(n))
		} else {
			sum = intDotOf16AVX2(&a[0], &b[0], uint64(n))
		}
	case []int32:
		if wide {
			sum = intDotAVX512(&a[0], &b[0], uint64(n))
		} else {
			sum = intDotAVX2(&a[0], &b[0], uint64(n))
		}
	}
	return n, sum
}

// dot32 is intDot of numbers of 32 bits.
func dot32(a, b []int32) int64 {
	n, sum := len(a)&^15, int64(0)
	b = b[:len(a)]
	switch {
	case level == simd.None:
		n = 0
	case n == 0:
	case level == simd.AVX512:
		sum = intDotAVX512(&a[0], &b[0], uint64(n))
	default:
		sum = intDotAVX2(&a[0], &b[0], uint64(n))
	}
	if n < len(a) {
		sum += intDotGeneric(a[n:], b[n:])
	}
	return sum
}

// pairDotFast takes entries of a of magnitude 2^15 − 1 at most, which is most.
func pairDotFast[T int8 | int16](a []int16, b []T, most int64) (int, int64) {
	n := len(a) &^ 31
	if level == simd.None || n == 0 {
		return 0, 0
	}
	_ = b[n-1]
	wide := level == simd.AVX512
	var sum int64
	switch b := any(b).(type) {
	case []int8:
		run := pairRun(most, 8)
		if wide {
			sum = pairDotOf8AVX512(&a[0], &b[0], uint64(n), run)
		} else {
			sum = pairDotOf8AVX2(&a[0], &b[0], uint64(n), run)
		}
	case []int16:
		run := pairRun(most, 16)
		if wide {
			sum = pairDotOf16AVX512(&a[0], &b[0], uint64(n), run)
		} else {
			sum = pairDotOf16AVX2(&a[0], &b[0], uint64(n), run)
		}
	}
	return n, sum
}

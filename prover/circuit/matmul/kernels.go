package matmul

import (
	"golang.org/x/sys/cpu"

	"github.com/prove-model/prove-model/internal/simd"
	"github.com/prove-model/prove-model/prover/math/ints"
)

//go:generate go run -C ../../../scripts/asm ./matmul -out ../../prover/circuit/matmul/kernels_amd64.s -stubs ../../prover/circuit/matmul/kernels_amd64.go -pkg matmul

// level is the instruction set in use; tests lower it.
var level = simd.Best()

// prefix returns how many of n entries the assembly handles: a multiple of unit, a power of two, which may be 0. It returns 0 if
// there is no assembly. The assembly must not be called with 0 entries.
func prefix(n, unit int) int {
	if level == simd.None {
		return 0
	}
	return n &^ (unit - 1)
}

// intRows adds Σ_c x[c]·rows[c·stride+j] to s[j].
func intRows[T ints.Integer](s []int64, x []int32, rows []T, stride int) {
	if len(x) == 0 {
		return
	}
	n := prefix(len(s), lanes)
	if n > 0 {
		_ = rows[(len(x)-1)*stride+n-1] // the assembly does not check bounds: this is the last entry that it reads
		size, k, step := uint64(n), uint64(len(x)), uint64(stride)
		switch rows := any(rows).(type) {
		case []int8:
			intRowsOf8(&s[0], size, &x[0], k, &rows[0], step)
		case []int16:
			intRowsOf16(&s[0], size, &x[0], k, &rows[0], step)
		case []int32:
			intRowsOf32(&s[0], size, &x[0], k, &rows[0], step)
		}
	}
	if n < len(s) {
		intRowsGeneric(s[n:], x, rows[n:], stride)
	}
}

// intRowsGeneric is intRows without assembly.
func intRowsGeneric[T ints.Integer](s []int64, x []int32, rows []T, stride int) {
	// Four rows at a time load and store s a quarter as often.
	for len(x) >= 4 {
		r0, r1, r2, r3 := rows[:len(s)], rows[stride:][:len(s)], rows[2*stride:][:len(s)], rows[3*stride:][:len(s)]
		x0, x1, x2, x3 := int64(x[0]), int64(x[1]), int64(x[2]), int64(x[3])
		if x0|x1|x2|x3 != 0 { // after a Relu, many are zero
			for j := range s {
				s[j] += x0*int64(r0[j]) + x1*int64(r1[j]) + x2*int64(r2[j]) + x3*int64(r3[j])
			}
		}
		if x = x[4:]; len(x) > 0 {
			rows = rows[4*stride:]
		}
	}
	for i, v := range x {
		for j, r := range rows[i*stride:][:len(s)] {
			s[j] += int64(v) * int64(r)
		}
	}
}

// floatRows is intRows in float64. Each product is rounded, and then added, in the order of c.
func floatRows(s, x, rows []float64, stride int) {
	if len(x) == 0 {
		return
	}
	n := prefix(len(s), lanes)
	if n > 0 {
		_ = rows[(len(x)-1)*stride+n-1]
		floatRowsVec(&s[0], uint64(n), &x[0], uint64(len(x)), &rows[0], uint64(stride))
	}
	if n == len(s) {
		return
	}
	s, rows = s[n:], rows[n:]
	for i, v := range x {
		for j, r := range rows[i*stride:][:len(s)] {
			s[j] += float64(v * r) // the conversion forbids a fused multiply-add
		}
	}
}

// pairsOf512 says whether the processor can multiply pairs of 16-bit numbers in 512-bit
// registers and add them up (AVX-512 VNNI).
var pairsOf512 = cpu.X86.HasAVX512VNNI

// pairRows adds Σ_c x[2c]·rows[2(c·stride+j)] + x[2c+1]·rows[2(c·stride+j)+1] to s[j], for
// len(x)/2 pairs. The sum of the magnitudes of all terms must be below 2^31.
func pairRows(s []int64, x, rows []int16, stride int) {
	n, k := prefix(len(s), 16), len(x)/2
	if k == 0 {
		return
	}
	if n > 0 {
		_ = rows[2*((k-1)*stride+n)-1]
		if level == simd.AVX512 && pairsOf512 {
			pairRowsAVX512(&s[0], uint64(n), &x[0], uint64(k), &rows[0], uint64(stride))
		} else {
			pairRowsAVX2(&s[0], uint64(n), &x[0], uint64(k), &rows[0], uint64(stride))
		}
	}
	if n == len(s) {
		return
	}
	s, rows = s[n:], rows[2*n:]
	for c := 0; c < len(x); c += 2 {
		x0, x1 := int64(x[c]), int64(x[c+1])
		row := rows[c*stride:][:2*len(s)]
		for j := range s {
			s[j] += x0*int64(row[2*j]) + x1*int64(row[2*j+1])
		}
	}
}

// Dot returns Σ a[i]·b[i] modulo 2^64, for b as long as a.
func Dot(a, b []int32) int64 { return intDot(a, b) }

// intDot returns Σ a[i]·b[i] modulo 2^64.
func intDot[T ints.Integer](a []int32, b []T) int64 {
	n, sum := prefix(len(a), 16), int64(0)
	if n > 0 {
		_ = b[n-1]
		switch b := any(b).(type) {
		case []int8:
			sum = intDotOf8(&a[0], &b[0], uint64(n))
		case []int16:
			sum = intDotOf16(&a[0], &b[0], uint64(n))
		case []int32:
			sum = intDotOf32(&a[0], &b[0], uint64(n))
		}
	}
	return sum + intDotGeneric(a[n:], b[n:])
}

// dot32 is intDot of numbers of 32 bits.
func dot32(a, b []int32) int64 {
	n, sum := prefix(len(a), 16), int64(0)
	b = b[:len(a)]
	if n > 0 {
		sum = intDotOf32(&a[0], &b[0], uint64(n))
	}
	if n < len(a) {
		sum += intDotGeneric(a[n:], b[n:])
	}
	return sum
}

// dotWith returns the function that is intDot for entries of type T. It is chosen once for many sums.
func dotWith[T ints.Integer]() func(a []int32, b []T) int64 {
	if f, ok := any(dot32).(func(a []int32, b []T) int64); ok {
		return f
	}
	return intDot[T]
}

// intDotGeneric is intDot without assembly. It keeps four partial sums, so that additions need not wait for each other.
func intDotGeneric[T ints.Integer](a []int32, b []T) int64 {
	var s0, s1, s2, s3 int64
	b = b[:len(a)]
	for len(a) >= 4 {
		s0 += int64(a[0]) * int64(b[0])
		s1 += int64(a[1]) * int64(b[1])
		s2 += int64(a[2]) * int64(b[2])
		s3 += int64(a[3]) * int64(b[3])
		a, b = a[4:], b[4:]
	}
	for i, x := range a {
		s0 += int64(x) * int64(b[i])
	}
	return s0 + s1 + s2 + s3
}

// pairDot returns Σ a[i]·b[i] over i < n, where n is the number of entries that the assembly handles. most must be at least the
// magnitude of every entry of a, and at most 2^15 − 1.
func pairDot[T int8 | int16](a []int16, b []T, most int64) (n int, sum int64) {
	if n = prefix(len(a), 32); n == 0 {
		return 0, 0
	}
	_ = b[n-1]
	switch b := any(b).(type) {
	case []int8:
		sum = pairDotOf8(&a[0], &b[0], uint64(n), pairRun(most, 8))
	case []int16:
		sum = pairDotOf16(&a[0], &b[0], uint64(n), pairRun(most, 16))
	}
	return n, sum
}

//go:build !purego

package code

import (
	"github.com/prove-model/prove-model/internal/simd"
	"github.com/prove-model/prove-model/prover/math/field"
)

//go:generate go -C ../../../scripts/asm run ./code -out ../../prover/math/code/layers_amd64.s -stubs ../../prover/math/code/layers_stubs_amd64.go -pkg code

// active is what the encoder uses.
var active = [...]kernels{simd.None: generic, simd.AVX2: avx2, simd.AVX512: avx512}[simd.Best()]

var (
	avx2 = kernels{
		radix2: func(dst, src []field.M31, v, count int, t []field.M31) {
			radix2Asm(radix2AVX2, dst, src, v, count, t)
		},
		radix4: func(dst, src []field.M31, v, count int, t []field.M31) {
			radix4Asm(radix4AVX2, dst, src, v, count, t)
		},
		lastLayers: func(dst []field.M31, v, width int, t []field.M31) {
			lastLayersAsm(last1AVX2, last4AVX2, dst, v, width, t)
		},
	}
	avx512 = kernels{
		radix2: func(dst, src []field.M31, v, count int, t []field.M31) {
			radix2Asm(radix2AVX512, dst, src, v, count, t)
		},
		radix4: func(dst, src []field.M31, v, count int, t []field.M31) {
			radix4Asm(radix4AVX512, dst, src, v, count, t)
		},
		lastLayers: func(dst []field.M31, v, width int, t []field.M31) {
			lastLayersAsm(last1AVX512, last4AVX512, dst, v, width, t)
		},
	}
)

// twiddlesOf returns the address of the twiddles of count nodes from v on,
// after checking that they are there: assembly does not.
func twiddlesOf(t []field.M31, v, count int) *uint32 {
	return (*uint32)(&t[v:][:count][0])
}

// blockLen returns the length of count equal blocks, which the assembly takes
// in vectors of 16 elements and in a loop that runs at least once.
func blockLen(dst []field.M31, count int, parts int) int {
	part := len(dst) / count / parts
	if part == 0 || part%lanes != 0 || part*parts*count != len(dst) {
		panic("code: blocks are too short for the vector kernels")
	}
	return part
}

func radix2Asm(f func(dst, src *uint32, halfBytes, count uint64, t *uint32), dst, src []field.M31, v, count int, t []field.M31) {
	half := blockLen(dst, count, 2)
	src = src[:len(dst)]
	f((*uint32)(&dst[0]), (*uint32)(&src[0]), uint64(4*half), uint64(count), twiddlesOf(t, v, count))
}

func radix4Asm(f func(dst, src *uint32, quarterBytes, count uint64, t, t2 *uint32), dst, src []field.M31, v, count int, t []field.M31) {
	quarter := blockLen(dst, count, 4)
	src = src[:len(dst)]
	f((*uint32)(&dst[0]), (*uint32)(&src[0]), uint64(4*quarter), uint64(count),
		twiddlesOf(t, v, count), twiddlesOf(t, 2*v, 2*count))
}

func lastLayersAsm(last1 func(dst *uint32, groups uint64, t, t2, t4, t8 *uint32), last4 func(dst *uint32, groups uint64, t, t2 *uint32),
	dst []field.M31, v, width int, t []field.M31) {
	count := len(dst) / lanes
	if count == 0 || count%2 != 0 || count*lanes != len(dst) {
		panic("code: an odd number of groups for the vector kernels")
	}
	t1, t2 := twiddlesOf(t, v, count), twiddlesOf(t, 2*v, 2*count)
	if width == 4 {
		last4((*uint32)(&dst[0]), uint64(count), t1, t2)
		return
	}
	last1((*uint32)(&dst[0]), uint64(count), t1, t2, twiddlesOf(t, 4*v, 4*count), twiddlesOf(t, 8*v, 8*count))
}

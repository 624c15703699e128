//go:build !purego

package code

import "github.com/prove-model/prove-model/internal/simd"

func init() {
	if simd.Best() >= simd.AVX2 {
		implementations["avx2"] = avx2
	}
	if simd.Best() >= simd.AVX512 {
		implementations["avx512"] = avx512
	}
}

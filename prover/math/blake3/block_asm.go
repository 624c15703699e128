//go:build amd64 && !purego

package blake3

import "github.com/prove-model/prove-model/internal/simd"

//go:generate go run -C ../../../scripts/asm ./blake3 -out ../../prover/math/blake3/kernels_amd64.s -stubs ../../prover/math/blake3/kernels_amd64.go -pkg blake3

// level is the instruction set in use; tests lower it.
var level = simd.Best()

func (s *states) compress(rows *[blockWords][]uint32, offset int, counter, length, flags uint32) {
	switch level {
	case simd.AVX512:
		compressAVX512(&s[0][0], &rows[0], uint64(4*offset), counter, length, flags)
	case simd.AVX2:
		compressAVX2(&s[0][0], &rows[0], uint64(4*offset), counter, length, flags)
		compressAVX2(&s[0][lanes/2], &rows[0], uint64(4*offset+2*lanes), counter, length, flags)
	default:
		s.compressGeneric(rows, offset, counter, length, flags)
	}
}

func transpose(dst *[blockWords][lanes]uint32, src *[lanes][blockWords]uint32) {
	switch level {
	case simd.AVX512:
		transposeAVX512(&dst[0][0], &src[0][0])
	case simd.AVX2:
		transposeAVX2(&dst[0][0], &src[0][0])
	default:
		transposeGeneric(dst, src)
	}
}

//go:build amd64 && !purego

package poseidon2

import (
	"github.com/prove-model/prove-model/internal/simd"
	"github.com/prove-model/prove-model/prover/math/field"
)

//go:generate go run -C ../../../scripts/asm ./poseidon2 -out ../../prover/math/poseidon2/kernels_amd64.s -stubs ../../prover/math/poseidon2/kernels_amd64.go -pkg poseidon2

// level is the instruction set in use; tests lower it.
var level = simd.Best()

// kernelConstants are all round constants in order, c − p in two's complement:
// added to a canonical word they give a signed word, which the kernels square
// without reducing it first.
var kernelConstants = func() (k [externalRounds*Width + internalRounds]uint32) {
	n := 0
	push := func(cs ...field.M31) {
		for _, c := range cs {
			k[n] = uint32(c) - field.P
			n++
		}
	}
	for r := range externalInitial {
		push(externalInitial[r][:]...)
	}
	push(internalConstants[:]...)
	for r := range externalFinal {
		push(externalFinal[r][:]...)
	}
	return k
}()

// permute permutes every state of the block.
func (b *block) permute() {
	switch level {
	case simd.AVX512:
		permuteBlockAVX512((*uint32)(&b[0][0]), &kernelConstants[0])
	case simd.AVX2:
		permuteBlockAVX2((*uint32)(&b[0][0]), &kernelConstants[0])
	default:
		permuteBlockGeneric(b)
	}
}

// permute permutes the state, if there is assembly for one alone.
func (s *State) permute() bool {
	if level != simd.AVX512 {
		return false
	}
	permuteStateAVX512((*uint32)(&s[0]), &kernelConstants[0])
	return true
}

// worthBlock is the least number of states for which permuting a whole block
// is quicker than one at a time.
func worthBlock() int {
	switch level {
	case simd.AVX512:
		return 5
	case simd.AVX2:
		return 4
	}
	return lanes + 1
}

// transposeFrom sets the block to the states, if there is assembly for it.
func (b *block) transposeFrom(states *[lanes]State) bool {
	return transpose((*uint32)(&b[0][0]), (*uint32)(&states[0][0]))
}

// transposeTo sets the states to those of the block, if there is assembly for
// it.
func (b *block) transposeTo(states *[lanes]State) bool {
	return transpose((*uint32)(&states[0][0]), (*uint32)(&b[0][0]))
}

// transpose sets the 16×16 matrix dst to the transpose of src, or reports
// that it cannot.
func transpose(dst, src *uint32) bool {
	switch level {
	case simd.AVX512:
		transposeAVX512(dst, src)
	case simd.AVX2:
		transposeAVX2(dst, src)
	default:
		return false
	}
	return true
}

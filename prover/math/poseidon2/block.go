package poseidon2

import (
	"github.com/prove-model/prove-model/internal/simd"
	"github.com/prove-model/prove-model/prover/math/field"
)

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

// lanes is the number of states a kernel call permutes.
const lanes = 16

// block is sixteen states side by side: block[i][k] is word i of state k, so
// that a vector register holds one word of each.
type block [Width][lanes]field.M31

// permute permutes every state of the block.
func (b *block) permute() {
	if level != simd.None {
		permuteBlock(word(&b[0][0]), &kernelConstants[0])
		return
	}
	for k := range lanes {
		var s State
		for i := range s {
			s[i] = b[i][k]
		}
		Permute(&s)
		for i := range s {
			b[i][k] = s[i]
		}
	}
}

// worthBlock returns the least number of states for which permuting a whole block is faster than permuting
// them one at a time. Without assembly it never is, and the result is above lanes.
func worthBlock() int { return [...]int{simd.None: lanes + 1, simd.AVX2: 4, simd.AVX512: 5}[level] }

// word returns an element's address for assembly.
func word(v *field.M31) *uint32 { return (*uint32)(v) }

// load sets the first len(states) ≤ 16 states of the block.
func (b *block) load(states []State) {
	if len(states) == lanes && level != simd.None {
		transposeWords(word(&b[0][0]), word(&states[0][0]))
		return
	}
	for k := range states {
		for i, v := range &states[k] {
			b[i][k] = v
		}
	}
}

// store copies the first len(states) ≤ 16 states out of the block.
func (b *block) store(states []State) {
	if len(states) == lanes && level != simd.None {
		transposeWords(word(&states[0][0]), word(&b[0][0]))
		return
	}
	for k := range states {
		for i := range states[k] {
			states[k][i] = b[i][k]
		}
	}
}

// PermuteMany applies the permutation to each of the states.
func PermuteMany(states []State) {
	var b block
	for len(states) > 0 {
		n := min(len(states), lanes)
		if n < worthBlock() {
			for k := range n {
				Permute(&states[k])
			}
		} else {
			b.load(states[:n])
			b.permute()
			b.store(states[:n])
		}
		states = states[n:]
	}
}

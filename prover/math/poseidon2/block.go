package poseidon2

import "github.com/prove-model/prove-model/prover/math/field"

// lanes is the number of states a kernel call permutes.
const lanes = 16

// block is sixteen states side by side: block[i][k] is word i of state k, so
// that a vector register holds one word of each.
type block [Width][lanes]field.M31

// permuteBlockGeneric permutes every state of the block in plain Go, one at a
// time.
func permuteBlockGeneric(b *block) {
	for k := range lanes {
		var s State
		for i := range s {
			s[i] = b[i][k]
		}
		permuteGeneric(&s)
		for i := range s {
			b[i][k] = s[i]
		}
	}
}

// load sets the first len(states) ≤ 16 states of the block.
func (b *block) load(states []State) {
	if len(states) == lanes && b.transposeFrom((*[lanes]State)(states)) {
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
	if len(states) == lanes && b.transposeTo((*[lanes]State)(states)) {
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

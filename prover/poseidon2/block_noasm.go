//go:build !amd64 || purego

package poseidon2

// permute permutes every state of the block.
func (b *block) permute() { permuteBlockGeneric(b) }

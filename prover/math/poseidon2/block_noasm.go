//go:build !amd64 || purego

package poseidon2

// permute permutes every state of the block.
func (b *block) permute() { permuteBlockGeneric(b) }

// There is no assembly for one state either.
func (s *State) permute() bool { return false }

// worthBlock is more states than there are in a block: without assembly each
// is permuted where it is.
func worthBlock() int { return lanes + 1 }

// There is no quicker way to load and store a block than word by word.
func (b *block) transposeFrom(*[lanes]State) bool { return false }
func (b *block) transposeTo(*[lanes]State) bool   { return false }

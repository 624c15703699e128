package poseidon2

import "github.com/prove-model/prove-model/prover/math/field"

// Digest is the output of the leaf sponge and of the compression function.
type Digest [DigestLen]field.M31

// Compress returns the parent of two Merkle nodes: the first half of
// P(l‖r) + (l‖r). The feed-forward makes it hard to invert, which truncation
// alone does not.
func Compress(l, r Digest) Digest {
	var s State
	copy(s[:DigestLen], l[:])
	copy(s[DigestLen:], r[:])
	Permute(&s)
	for i := range l {
		l[i] = l[i].Add(s[i])
	}
	return l
}

// CompressMany sets dst[i] = Compress(pairs[2i], pairs[2i+1]), the next layer
// of a Merkle tree. len(pairs) = 2·len(dst). dst may be pairs[:len(dst)]; any
// other overlap is not allowed.
func CompressMany(dst, pairs []Digest) {
	if len(pairs) != 2*len(dst) {
		panic("poseidon2: CompressMany needs two digests for each result")
	}
	var b block
	for len(dst) > 0 {
		// Writing dst[i] never touches pairs[2i] and beyond, and a block is
		// read whole before it is written: going upwards is safe in place.
		n := min(len(dst), lanes)
		if n < worthBlock() {
			for i := range n {
				dst[i] = Compress(pairs[2*i], pairs[2*i+1])
			}
		} else {
			b.loadPairs(pairs[:2*n])
			in := b
			b.permute()
			for i := range DigestLen {
				field.AddVec(b[i][:], b[i][:], in[i][:])
			}
			b.storeDigests(dst[:n])
		}
		dst, pairs = dst[n:], pairs[2*n:]
	}
}

// loadPairs sets the first len(pairs)/2 states of the block to the two halves
// of each pair.
func (b *block) loadPairs(pairs []Digest) {
	var states [lanes]State
	for k := range len(pairs) / 2 {
		copy(states[k][:DigestLen], pairs[2*k][:])
		copy(states[k][DigestLen:], pairs[2*k+1][:])
	}
	b.load(states[:len(pairs)/2])
}

// storeDigests copies the first halves of the first len(dst) states.
func (b *block) storeDigests(dst []Digest) {
	var states [lanes]State
	b.store(states[:len(dst)])
	for k := range dst {
		copy(dst[k][:], states[k][:])
	}
}

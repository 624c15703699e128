package blake3

import "math/bits"

const (
	// BlockBytes is the number of bytes of a message that one compression takes.
	BlockBytes = 64
	// ChunkBytes is the length of a chunk, a leaf of the tree over a message.
	ChunkBytes = 1024
	// DigestBytes is the length of a digest.
	DigestBytes = 32

	blockWords = BlockBytes / 4
)

// Flags of a compression (specification, table 3).
const (
	chunkStart uint32 = 1 << iota
	chunkEnd
	parent
	root
	keyedHash
	deriveKeyContext
	deriveKeyMaterial
)

// A Digest and a Key are 32 bytes each, as eight little-endian words.
type (
	Digest [8]uint32
	Key    [8]uint32
)

// iv is the key of a hash without a key, and part of every state (specification, table 1).
var iv = [8]uint32{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}

// permutation is the order in which a round takes the words of the one before (specification, table 2).
var permutation = [blockWords]int{2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8}

// schedule is the order in which each of the seven rounds takes the words of a block.
var schedule = func() (s [7][blockWords]uint8) {
	for i := range s[0] {
		s[0][i] = uint8(i)
	}
	for r := 1; r < len(s); r++ {
		for i, p := range permutation {
			s[r][i] = s[r-1][p]
		}
	}
	return s
}()

// compress is the compression function: chaining value, block, counter, number of bytes in the block and flags give
// sixteen words. The first eight are the next chaining value; all of them are output of a root.
func compress(cv *[8]uint32, m *[blockWords]uint32, counter uint64, length, flags uint32) (out [16]uint32) {
	v0, v1, v2, v3, v4, v5, v6, v7 := cv[0], cv[1], cv[2], cv[3], cv[4], cv[5], cv[6], cv[7]
	v8, v9, v10, v11 := iv[0], iv[1], iv[2], iv[3]
	v12, v13, v14, v15 := uint32(counter), uint32(counter>>32), length, flags
	for r := range schedule {
		s := &schedule[r]
		v0, v4, v8, v12 = quarter(v0, v4, v8, v12, m[s[0]&15], m[s[1]&15])
		v1, v5, v9, v13 = quarter(v1, v5, v9, v13, m[s[2]&15], m[s[3]&15])
		v2, v6, v10, v14 = quarter(v2, v6, v10, v14, m[s[4]&15], m[s[5]&15])
		v3, v7, v11, v15 = quarter(v3, v7, v11, v15, m[s[6]&15], m[s[7]&15])
		v0, v5, v10, v15 = quarter(v0, v5, v10, v15, m[s[8]&15], m[s[9]&15])
		v1, v6, v11, v12 = quarter(v1, v6, v11, v12, m[s[10]&15], m[s[11]&15])
		v2, v7, v8, v13 = quarter(v2, v7, v8, v13, m[s[12]&15], m[s[13]&15])
		v3, v4, v9, v14 = quarter(v3, v4, v9, v14, m[s[14]&15], m[s[15]&15])
	}
	return [16]uint32{
		v0 ^ v8, v1 ^ v9, v2 ^ v10, v3 ^ v11, v4 ^ v12, v5 ^ v13, v6 ^ v14, v7 ^ v15,
		v8 ^ cv[0], v9 ^ cv[1], v10 ^ cv[2], v11 ^ cv[3], v12 ^ cv[4], v13 ^ cv[5], v14 ^ cv[6], v15 ^ cv[7],
	}
}

// quarter is the function G of the specification (section 2.2).
func quarter(a, b, c, d, x, y uint32) (uint32, uint32, uint32, uint32) {
	a += b + x
	d = bits.RotateLeft32(d^a, -16)
	c += d
	b = bits.RotateLeft32(b^c, -12)
	a += b + y
	d = bits.RotateLeft32(d^a, -8)
	c += d
	b = bits.RotateLeft32(b^c, -7)
	return a, b, c, d
}

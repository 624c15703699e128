package blake3

import (
	"encoding/binary"
	"math/bits"
)

// Sum fills dst with output of the keyed hash of a message: the first 32 bytes are the digest, and further bytes are
// extended output (specification, sections 2.3 and 2.6).
func Sum(dst []byte, key *Key, message []byte) {
	top((*[8]uint32)(key), keyedHash, message, 0).fill(dst)
}

// DeriveKey returns the key for a use that the context names. A context is a constant of the program, for one use
// alone; it needs no secret (specification, section 2.3, derive_key).
func DeriveKey(context string, material []byte) (k Key) {
	c := top(&iv, deriveKeyContext, []byte(context), 0).value(root)
	return top(&c, deriveKeyMaterial, material, 0).value(root)
}

// A node is a node of a message's tree before its last compression, which depends on whether it is the root.
type node struct {
	cv            [8]uint32
	block         [blockWords]uint32
	counter       uint64
	length, flags uint32
}

// value returns the node's chaining value.
func (n *node) value(flags uint32) [8]uint32 {
	out := compress(&n.cv, &n.block, n.counter, n.length, n.flags|flags)
	return [8]uint32(out[:8])
}

// fill fills dst with the output of the node as the root.
func (n *node) fill(dst []byte) {
	for counter := uint64(0); len(dst) > 0; counter++ {
		var bytes [BlockBytes]byte
		for i, w := range compress(&n.cv, &n.block, counter, n.length, n.flags|root) {
			binary.LittleEndian.PutUint32(bytes[4*i:], w)
		}
		dst = dst[copy(dst, bytes[:]):]
	}
}

// top returns the top node of the tree over a message, whose first chunk has number chunk. The left subtree has
// the greatest number of chunks that is a power of two and leaves at least one byte for the right subtree.
func top(key *[8]uint32, flags uint32, message []byte, chunk uint64) *node {
	if len(message) <= ChunkBytes {
		return leaf(key, flags, message, chunk)
	}
	chunks := uint64(len(message)-1) / ChunkBytes
	left := uint64(1) << (bits.Len64(chunks) - 1)
	n := &node{cv: *key, length: BlockBytes, flags: flags | parent}
	l := top(key, flags, message[:left*ChunkBytes], chunk).value(0)
	r := top(key, flags, message[left*ChunkBytes:], chunk+left).value(0)
	copy(n.block[:8], l[:])
	copy(n.block[8:], r[:])
	return n
}

// leaf returns the node of a chunk.
func leaf(key *[8]uint32, flags uint32, chunk []byte, counter uint64) *node {
	n := &node{cv: *key, counter: counter, flags: flags | chunkStart}
	for len(chunk) > BlockBytes {
		n.load(chunk[:BlockBytes])
		n.cv = n.value(0)
		n.flags = flags
		chunk = chunk[BlockBytes:]
	}
	n.load(chunk)
	n.flags |= chunkEnd
	return n
}

// load sets the block to b, at most BlockBytes, followed by zeros.
func (n *node) load(b []byte) {
	var bytes [BlockBytes]byte
	n.length = uint32(copy(bytes[:], b))
	for i := range n.block {
		n.block[i] = binary.LittleEndian.Uint32(bytes[4*i:])
	}
}

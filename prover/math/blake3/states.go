package blake3

import (
	"math/bits"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/internal/simd"
)

// lanes is the number of messages that are hashed together.
const lanes = 16

// states are the chaining values of sixteen messages: states[i][l] is word i of message l.
type states [8][lanes]uint32

// beginning returns the states at the beginning of sixteen messages: the key.
func beginning(key *Key) (s states) {
	for i, w := range key {
		for l := range s[i] {
			s[i][l] = w
		}
	}
	return s
}

// load sets the states of the first messages to digests, at most sixteen, and those of the other messages to zeros.
func (s *states) load(src []Digest) {
	var rows [lanes][blockWords]uint32
	var columns [blockWords][lanes]uint32
	for l := range src {
		*(*Digest)(rows[l][:]) = src[l]
	}
	transpose(&columns, &rows)
	*s = states(columns[:len(s)])
}

// store sets dst to the states of the first messages, at most sixteen.
func (s *states) store(dst []Digest) {
	var rows [lanes][blockWords]uint32
	var columns [blockWords][lanes]uint32
	copy(rows[:], s[:])
	transpose(&columns, &rows)
	for l := range dst {
		dst[l] = Digest(columns[l][:len(s)])
	}
}

// level is the instruction set in use; tests lower it.
var level = simd.Best()

// compress compresses a block of each message; word i of message l's block is rows[i][offset+l].
func (s *states) compress(rows *[blockWords][]uint32, offset int, counter, length, flags uint32) {
	switch level {
	case simd.AVX512:
		compressAVX512(&s[0][0], &rows[0], uint64(4*offset), counter, length, flags)
		return
	case simd.AVX2:
		compressAVX2(&s[0][0], &rows[0], uint64(4*offset), counter, length, flags)
		compressAVX2(&s[0][lanes/2], &rows[0], uint64(4*offset+2*lanes), counter, length, flags)
		return
	}
	for l := range lanes {
		var cv [8]uint32
		var m [blockWords]uint32
		for i := range cv {
			cv[i] = s[i][l]
		}
		for i := range m {
			m[i] = rows[i][offset+l]
		}
		out := compress(&cv, &m, uint64(counter), length, flags)
		for i := range cv {
			s[i][l] = out[i]
		}
	}
}

// transpose sets dst to the transpose of src.
func transpose(dst *[blockWords][lanes]uint32, src *[lanes][blockWords]uint32) {
	if level != simd.None {
		transposeWords(&dst[0][0], &src[0][0])
		return
	}
	for l := range src {
		for i, w := range src[l] {
			dst[i][l] = w
		}
	}
}

// leadingZeros returns the number of leading zero bits of a digest whose first word is word. Bits are in the order of the bytes, the most
// significant bit of a byte first.
func leadingZeros(word uint32) int { return bits.LeadingZeros32(bits.ReverseBytes32(word)) }

// tree hashes many messages of one length in parallel, block after block. A message longer than a chunk is hashed as a tree of its
// chunks. When a chunk ends, its chaining value is merged with those of complete subtrees to the left of it, which wait on a
// stack (specification, section 5.1.2).
type tree struct {
	begun  states     // at the beginning of a message
	states []states   // by sixteen messages: the states in the current chunk
	stack  [][]states // by place on the stack, then by sixteen messages: the chaining values of subtrees
	length int        // the bytes of a message
	taken  int        // how many of these have been announced (take)
	blocks int        // how many blocks these are
}

// newTree returns a tree for this number of messages. begin must be called next.
func newTree(key *Key, messages int) tree {
	return tree{begun: beginning(key), states: make([]states, (messages+lanes-1)/lanes)}
}

// begin starts messages of this length.
func (t *tree) begin(length int) {
	if length < 0 || length>>32 > 0 {
		panic("blake3: messages of a length out of range")
	}
	t.length, t.taken, t.blocks = length, 0, 0
	// Before chunk c, the stack has as many subtrees as bits are set in c.
	for most := bits.Len(uint(t.chunks() - 1)); len(t.stack) < most; {
		t.stack = append(t.stack, make([]states, len(t.states)))
	}
}

// chunks returns the number of chunks of a message.
func (t *tree) chunks() int { return max(1, (t.length+ChunkBytes-1)/ChunkBytes) }

// take announces that the next n bytes of every message follow: whole blocks, or all that is left.
func (t *tree) take(n int) {
	if t.taken += n; t.taken > t.length {
		panic("blake3: longer messages than announced")
	}
	if t.taken%BlockBytes != 0 && t.taken != t.length {
		panic("blake3: a block that is not full and not the last")
	}
	t.blocks += (n + BlockBytes - 1) / BlockBytes
	if t.length == 0 {
		t.blocks = 1
	}
}

// finish panics unless all bytes of the messages have been taken.
func (t *tree) finish() {
	if t.taken != t.length {
		panic("blake3: shorter messages than announced")
	}
}

// store sets dst to the states of all messages.
func (t *tree) store(dst []Digest) {
	parallel.For(len(t.states), columnsGrain, func(lo, hi int) {
		for g := lo; g < hi; g++ {
			t.states[g].store(dst[g*lanes : min((g+1)*lanes, len(dst))])
		}
	})
}

// compress compresses block number block of the sixteen messages with number g. Word i of that block is in rows[i], for the sixteen
// messages from offset on. Words beyond the end of a message must be zero. At the end of a chunk it merges subtrees.
func (t *tree) compress(g, block int, rows *[blockWords][]uint32, offset int) {
	const perChunk = ChunkBytes / BlockBytes
	s, chunk, chunks := &t.states[g], block/perChunk, t.chunks()
	length, flags := min(BlockBytes, t.length-block*BlockBytes), keyedHash
	if block%perChunk == 0 {
		*s = t.begun
		flags |= chunkStart
	}
	end := block%perChunk == perChunk-1 || (block+1)*BlockBytes >= t.length
	if end {
		flags |= chunkEnd
		if chunks == 1 {
			flags |= root
		}
	}
	s.compress(rows, offset, uint32(chunk), uint32(length), flags)
	if !end || chunks == 1 {
		return
	}
	height, last := bits.OnesCount(uint(chunk)), chunk == chunks-1
	merges := bits.TrailingZeros(uint(chunk + 1))
	if last {
		merges = height
	}
	for range merges {
		height--
		flags := keyedHash | parent
		if last && height == 0 {
			flags |= root
		}
		var pair [blockWords][]uint32
		right := *s
		for i := range right {
			pair[i], pair[len(right)+i] = t.stack[height][g][i][:], right[i][:]
		}
		*s = t.begun
		s.compress(&pair, 0, 0, BlockBytes, flags)
	}
	if !last {
		t.stack[height][g] = *s
	}
}

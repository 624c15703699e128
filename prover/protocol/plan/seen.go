package plan

import (
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// seen finds the node of a sub-transcript that is the value of a given tensor at a given
// point. It is a hash table of node numbers with a keyed hash and linear probing.
type seen struct {
	places []seenAt // a power of two, at least half of them free
	used   int
	keys   [2]uint64 // random keys of the hash, so that nobody can build a circuit whose nodes all have one place
}

// seenAt is a place of the table: a node's number plus 1, or 0 if the place is free, and the upper half of the node's hash.
type seenAt struct {
	node uint32
	hash uint32
}

// newSeen returns a table with room for n nodes before it grows.
func newSeen(n int) seen {
	s := seen{keys: [2]uint64{rand.Uint64(), rand.Uint64()}}
	s.places = make([]seenAt, 1<<max(model.Log2Ceil(2*n+1), 4))
	clear(s.places) // for speed: a page of memory that is read before it is written takes two faults
	return s
}

// hash returns the hash of a tensor and a point.
func (s *seen) hash(id model.TensorID, at Point) uint64 {
	if len(at) == 0 {
		return mix(uint64(uint32(id))^s.keys[0], s.keys[1])
	}
	h := mix((uint64(uint32(id))<<32|uint64(at[0]))^s.keys[0], s.keys[1]^uint64(len(at)))
	if !at.Consecutive() { // most points are: their first coordinate and their length, hashed above, determine them
		for _, c := range at[1:] {
			h = mix(h^uint64(c), s.keys[1])
		}
	}
	return h
}

// mix returns the exclusive or of the two halves of the product a·b of 128 bits.
func mix(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

// find returns the node of a tensor at a point, and the hash of the two for add.
func (s *seen) find(nodes []Node, id model.TensorID, at Point) (v Value, ok bool, h uint64) {
	h = s.hash(id, at)
	for i := h; ; i++ {
		p := s.places[i&uint64(len(s.places)-1)]
		if p.node == 0 {
			return 0, false, h
		}
		if p.hash == uint32(h>>32) {
			if n := &nodes[p.node-1]; n.Tensor == id && slices.Equal(n.At, at) {
				return Value(p.node - 1), true, h
			}
		}
	}
}

// add adds a node that find did not find. h is the hash that find returned.
func (s *seen) add(nodes []Node, v Value, h uint64) {
	if s.used++; 2*s.used > len(s.places) {
		old := s.places
		s.places = make([]seenAt, 2*len(old))
		for _, p := range old {
			if p.node > 0 {
				n := &nodes[p.node-1]
				s.put(p, s.hash(n.Tensor, n.At))
			}
		}
	}
	s.put(seenAt{uint32(v) + 1, uint32(h >> 32)}, h)
}

// put writes p to the first free place for the hash h.
func (s *seen) put(p seenAt, h uint64) {
	for ; s.places[h&uint64(len(s.places)-1)].node > 0; h++ {
	}
	s.places[h&uint64(len(s.places)-1)] = p
}

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
	keys   [2]uint64 // of the hash, which nobody knows before: an enemy's circuit cannot have all its nodes in one place
}

// seenAt is a node's number plus 1, 0 if the place is free, and a part of its hash.
type seenAt struct {
	node uint32
	hash uint32
}

// newSeen returns a table with room for n nodes before it grows.
func newSeen(n int) seen {
	s := seen{keys: [2]uint64{rand.Uint64(), rand.Uint64()}}
	s.places = make([]seenAt, 1<<max(model.Log2Ceil(2*n+1), 4))
	clear(s.places) // pages that are read before they are written take two faults
	return s
}

func (s *seen) hash(id model.TensorID, at Point) uint64 {
	if len(at) == 0 {
		return mix(uint64(uint32(id))^s.keys[0], s.keys[1])
	}
	h := mix((uint64(uint32(id))<<32|uint64(at[0]))^s.keys[0], s.keys[1]^uint64(len(at)))
	if !at.Consecutive() { // most are, so that the first coordinate and the number of them say all
		for _, c := range at[1:] {
			h = mix(h^uint64(c), s.keys[1])
		}
	}
	return h
}

// mix returns both halves of a product in one word. Each bit of it depends on all bits of a and b.
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

// add adds a node that find did not find, by the hash that it returned.
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

func (s *seen) put(p seenAt, h uint64) {
	for ; s.places[h&uint64(len(s.places)-1)].node > 0; h++ {
	}
	s.places[h&uint64(len(s.places)-1)] = p
}

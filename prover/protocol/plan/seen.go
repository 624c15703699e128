package plan

import (
	"encoding/binary"
	"hash/maphash"
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// seen finds the node of a sub-transcript that is the value of a given tensor at a given
// point. It is a hash table of node numbers with a keyed hash and linear probing.
type seen struct {
	places []seenAt // a power of two, at least half of them free
	used   int
	seed   maphash.Seed
	key    []byte // room for what is hashed
}

// seenAt is a node's number plus 1, 0 if the place is free, and a part of its hash.
type seenAt struct {
	node uint32
	hash uint32
}

// newSeen returns a table with room for n nodes before it grows.
func newSeen(n int) seen {
	s := seen{seed: maphash.MakeSeed()}
	s.places = make([]seenAt, 1<<max(model.Log2Ceil(2*n+1), 4))
	clear(s.places) // pages that are read before they are written take two faults
	return s
}

func (s *seen) hash(id model.TensorID, at Point) uint64 {
	s.key = binary.LittleEndian.AppendUint32(s.key[:0], uint32(id))
	if len(at) > 1 && at.Consecutive() { // as most are: its first coordinate and the number of them say all
		s.key = binary.LittleEndian.AppendUint32(s.key, uint32(len(at)))
		at = at[:1]
	}
	for _, c := range at {
		s.key = binary.LittleEndian.AppendUint32(s.key, uint32(c))
	}
	return maphash.Bytes(s.seed, s.key)
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

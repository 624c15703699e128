package plan

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// TestSeen compares the table with a list, while it grows and where hashes are equal.
func TestSeen(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, same := range []bool{false, true} {
		var nodes []Node
		s := newSeen(0)
		for range 3000 {
			id, at := model.TensorID(rng.IntN(50)), challenges(rng.IntN(3), 9, rng.IntN(5))
			v, ok, h := s.find(nodes, id, at)
			want := slices.IndexFunc(nodes, func(n Node) bool { return n.Tensor == id && slices.Equal(n.At, at) })
			if ok != (want >= 0) || ok && int(v) != want {
				t.Fatalf("tensor %d at %v: node %d, %t, want %d", id, at, v, ok, want)
			}
			if ok {
				continue
			}
			nodes = append(nodes, Node{Tensor: id, At: at})
			if same && len(s.places) < 64 { // a place and a hash that another node has
				first := s.hash(nodes[0].Tensor, nodes[0].At)
				s.add(nodes, Value(len(nodes)-1), first)
				nodes[len(nodes)-1] = Node{Tensor: -1} // which nothing asks for
				continue
			}
			s.add(nodes, Value(len(nodes)-1), h)
		}
		if s.used < 20 || 2*s.used > len(s.places) {
			t.Errorf("%d nodes in %d places", s.used, len(s.places))
		}
	}
}

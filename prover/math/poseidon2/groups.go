package poseidon2

import (
	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/field"
)

// The group sponge: a leaf of several groups of rows is the digest of the
// groups' digests in order, one block of the rate each. Groups can be hashed
// anywhere and in any order; between them, a column's sponge is its capacity,
// since a digest overwrites all of the rate.

// groupsTag stands beside the number of groups in the initial capacity, so that
// no state here is one of the leaf sponge: "grps" in ASCII.
const groupsTag field.M31 = 0x67727073

// saltTag stands there in a leaf with a salt, "salt" in ASCII: a leaf of n groups and one of n − 1
// with a salt are not alike.
const saltTag field.M31 = 0x73616c74

func groupsStart(groups int, tag field.M31) (s State) {
	s[lengthWord], s[tagWord] = field.M31(groups), tag
	return s
}

func checkGroups(n int) {
	if n < 1 {
		panic("poseidon2: a leaf without groups")
	}
	checkLength(n)
}

// LeafHasher makes the leaves of many columns from the digests of their groups,
// one group after the other: with one group its digest, with more the sponge of all. It keeps 32 bytes a
// column, or with one group nothing, and works on all cores.
type LeafHasher struct {
	columns    int
	groups     int // in all
	absorbed   int // so far
	capacities []capacity
	last       []Digest // given to Absorb: the leaves, in the end
}

// capacity is what comes after the rate in the states of a block.
type capacity [Width - Rate][lanes]field.M31

// NewLeafHasher returns a hasher for columns of that many groups, at least one.
func NewLeafHasher(columns, groups int) *LeafHasher {
	checkGroups(groups)
	h := &LeafHasher{columns: columns, groups: groups}
	if groups > 1 {
		h.begin(groupsTag)
	}
	return h
}

// NewSaltedLeafHasher returns a hasher for columns of that many groups, at least one, and a salt:
// the sponge of both, with a tag of its own. The salts come first, as a group.
func NewSaltedLeafHasher(columns, groups int) *LeafHasher {
	checkGroups(groups)
	h := &LeafHasher{columns: columns, groups: groups + 1}
	h.begin(saltTag)
	return h
}

// begin sets the capacities.
func (h *LeafHasher) begin(tag field.M31) {
	h.capacities = make([]capacity, (h.columns+lanes-1)/lanes)
	start := groupsStart(h.groups, tag)
	for g := range h.capacities {
		for i := range h.capacities[g] {
			for k := range lanes {
				h.capacities[g][i][k] = start[Rate+i]
			}
		}
	}
}

// Absorb takes the digests of the next group, one a column. It keeps those of
// the last group and overwrites them.
func (h *LeafHasher) Absorb(digests []Digest) {
	if len(digests) != h.columns {
		panic("poseidon2: one digest for each column")
	}
	if h.absorbed == h.groups {
		panic("poseidon2: more groups than announced")
	}
	h.absorbed++
	h.last = digests
	parallel.For(len(h.capacities), absorbGrain, func(lo, hi int) {
		var b block
		for g := lo; g < hi; g++ {
			these := digests[g*lanes : min((g+1)*lanes, h.columns)]
			for k := range these {
				for i, v := range these[k] {
					b[i][k] = v
				}
			}
			copy(b[Rate:], h.capacities[g][:])
			b.permute()
			copy(h.capacities[g][:], b[Rate:])
			if h.absorbed == h.groups {
				b.storeDigests(these)
			}
		}
	})
}

// Sum returns the leaves. All groups must have been absorbed.
func (h *LeafHasher) Sum() []Digest {
	if h.absorbed != h.groups {
		panic("poseidon2: fewer groups than announced")
	}
	return h.last
}

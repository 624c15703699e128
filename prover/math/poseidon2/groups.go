package poseidon2

import (
	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/field"
)

// The group sponge: a leaf of several groups of rows is the digest of the groups' digests in order,
// of which each fills one block of the rate. Groups can be hashed anywhere and in any order.
// Between two groups only the capacity of a column's sponge is kept, since the next digest
// overwrites all of the rate.

// groupsTag stands beside the number of groups in the initial capacity, so that
// no state here is one of the leaf sponge: "grps" in ASCII.
const groupsTag field.M31 = 0x67727073

// saltTag takes the place of groupsTag in a leaf with a salt: "salt" in ASCII. So a leaf of n groups is not the
// same as a leaf of n − 1 groups and a salt.
const saltTag field.M31 = 0x73616c74

// groupsStart returns the initial state of a group sponge for this number of digests.
func groupsStart(groups int, tag field.M31) (s State) {
	s[lengthWord], s[tagWord] = field.M31(groups), tag
	return s
}

// checkGroups panics unless n is a possible number of groups.
func checkGroups(n int) {
	if n < 1 {
		panic("poseidon2: a leaf without groups")
	}
	checkLength(n)
}

// LeafHasher computes the leaves of many columns from the digests of their groups, one group after the other. With one group a
// leaf is its digest, with more it is the group sponge's. It keeps 32 bytes for each column, or nothing with one group, and
// works on all cores.
type LeafHasher struct {
	columns    int
	groups     int        // how many groups will come in all
	absorbed   int        // how many have come
	capacities []capacity // by sixteen columns; nil with one group
	last       []Digest   // the slice that Absorb was called with last, into which it writes the leaves at the end
}

// capacity has the lanes behind the rate of the states of a block.
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

// NewSaltedLeafHasher returns a hasher for columns of that many groups, at least one, and a salt.
// A leaf is the sponge of both, with the tag saltTag. The salts are absorbed first, as a group.
func NewSaltedLeafHasher(columns, groups int) *LeafHasher {
	checkGroups(groups)
	h := &LeafHasher{columns: columns, groups: groups + 1}
	h.begin(saltTag)
	return h
}

// begin sets the capacities to the initial ones, with a tag.
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

// Absorb takes the digests of the next group, one for each column. It keeps the slice of
// the last group and overwrites it with the leaves.
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

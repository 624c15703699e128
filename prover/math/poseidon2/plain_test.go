// The plain definitions of what the hashers give for a column.

package poseidon2

import "github.com/prove-model/prove-model/prover/math/field"

// HashElements returns the digest of v, whose length must be below p. It is
// what a ColumnHasher gives for a column with these elements.
func HashElements(v []field.M31) Digest {
	checkLength(len(v))
	var s State
	s[lengthWord] = field.M31(len(v))
	s[tagWord] = leafTag
	for {
		n := copy(s[:Rate], v)
		Permute(&s)
		v = v[n:]
		if len(v) == 0 {
			return Digest(s[:DigestLen])
		}
	}
}

// HashGroups returns the leaf of groups with the given digests: with one group
// its digest, with more the sponge's. There is at least one, and fewer than p.
func HashGroups(groups []Digest) Digest {
	checkGroups(len(groups))
	if len(groups) == 1 {
		return groups[0]
	}
	return hashDigests(groups, groupsTag)
}

func hashDigests(digests []Digest, tag field.M31) Digest {
	s := groupsStart(len(digests), tag)
	for i := range digests {
		copy(s[:Rate], digests[i][:])
		Permute(&s)
	}
	return Digest(s[:DigestLen])
}

// HashSalted returns the leaf of groups with the given digests, at least one, and a salt.
func HashSalted(salt Digest, groups []Digest) Digest {
	checkGroups(len(groups))
	return hashDigests(append([]Digest{salt}, groups...), saltTag)
}

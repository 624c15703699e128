package merkle

import (
	"errors"
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/transcript"
)

// ErrRoot says that leaves and path do not hash to the root.
var ErrRoot = errors.New("the Merkle path does not lead to the root")

// Verify reads the digests of [Tree.Siblings], as hints, and checks that leaves[i] is leaf indices[i], for every i, of a tree of the
// reader's suite with this root and 2^depth leaves. Other leaves with the same root would be a collision of the suite's hash, so
// neither leaves nor hints need be absorbed: the root, which was absorbed before the indices were drawn, binds them. indices must be
// strictly increasing and below 2^depth. If there are none, nothing is read and nothing checked.
//
// The error is also recorded in r, so that it cannot get lost. Time and memory
// are bounded by len(indices)·depth, whatever the proof's bytes are.
func Verify(r *transcript.Reader, root hash.Digest, depth int, indices []uint64, leaves []hash.Digest) error {
	err := verify(r, root, depth, indices, leaves)
	r.Fail(err)
	return err
}

// verify is Verify, but does not record its error in r.
func verify(r *transcript.Reader, root hash.Digest, depth int, indices []uint64, leaves []hash.Digest) error {
	if depth < 0 || depth > 63 {
		return fmt.Errorf("a Merkle tree cannot have depth %d", depth)
	}
	if len(indices) != len(leaves) {
		return fmt.Errorf("%d leaves for %d indices", len(leaves), len(indices))
	}
	if err := checkIndices(indices, depth); err != nil {
		return err
	}
	if len(indices) == 0 {
		return r.Err()
	}
	known, digests := slices.Clone(indices), slices.Clone(leaves)
	pairs, nodes := make([]hash.Digest, 0, 2*len(leaves)), make([]uint64, 0, len(indices))
	for range depth {
		pairs = pairs[:0]
		next := 0 // the index of the first digest that is not in a pair yet
		nodes = append(nodes[:0], known...)
		known = parents(known, func(sibling uint64) {
			// Digests before the node whose sibling is missing are in complete pairs.
			for ; nodes[next] != sibling^1; next++ {
				pairs = append(pairs, digests[next])
			}
			hint := r.HintDigest()
			if sibling&1 == 0 {
				pairs = append(pairs, hint, digests[next])
			} else {
				pairs = append(pairs, digests[next], hint)
			}
			next++
		})
		pairs = append(pairs, digests[next:]...)
		if err := r.Err(); err != nil {
			return err
		}
		digests = digests[:len(known)]
		r.Suite().Parents(digests, pairs)
	}
	if err := r.Err(); err != nil {
		return err
	}
	if digests[0] != root {
		return ErrRoot
	}
	return nil
}

// Package merkle commits to 2^n digests with a binary tree and opens
// many of them at once with one pruned path (docs/protocol.md, "Hash and
// transcript").
package merkle

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/hash"
)

// Tree is a complete binary tree of digests. Every digest above the leaves is
// the hash, of the tree's suite, of its two children.
type Tree struct {
	layers [][]hash.Digest // leaves first, root last; each half as long as the one before
}

// nodesGrain is the least number of nodes that one goroutine hashes.
const nodesGrain = 256

// New builds the tree of a suite over leaves, whose number must be a power of two; it
// panics otherwise. It keeps the slice leaves, and allocates about as much memory again.
func New(suite hash.Suite, leaves []hash.Digest) *Tree {
	if bits.OnesCount(uint(len(leaves))) != 1 {
		panic("merkle: the number of leaves is not a power of two")
	}
	t := &Tree{layers: [][]hash.Digest{leaves}}
	inner := make([]hash.Digest, len(leaves)-1)
	for below := leaves; len(below) > 1; {
		half := len(below) / 2
		var layer []hash.Digest
		layer, inner = inner[:half:half], inner[half:]
		parallel.For(half, nodesGrain, func(lo, hi int) {
			suite.Parents(layer[lo:hi], below[2*lo:2*hi])
		})
		t.layers = append(t.layers, layer)
		below = layer
	}
	return t
}

// FromLayers returns the tree with the layers that [Tree.Layers] gave, leaves
// first, and keeps them. It checks their lengths but hashes nothing: a tree
// with wrong digests gives openings that no verifier accepts.
func FromLayers(layers [][]hash.Digest) (*Tree, error) {
	if len(layers) == 0 || len(layers) > bits.UintSize-1 {
		return nil, fmt.Errorf("a Merkle tree cannot have %d layers", len(layers))
	}
	for i, layer := range layers {
		if want := 1 << (len(layers) - 1 - i); len(layer) != want {
			return nil, fmt.Errorf("layer %d of a Merkle tree with %d layers has %d digests instead of %d", i, len(layers), len(layer), want)
		}
	}
	return &Tree{layers: layers}, nil
}

// Layers returns the tree's layers, leaves first and the root alone last. They
// are the tree's own and must not be changed.
func (t *Tree) Layers() [][]hash.Digest { return t.layers }

// Depth returns n for a tree of 2^n leaves.
func (t *Tree) Depth() int { return len(t.layers) - 1 }

// Root returns the commitment.
func (t *Tree) Root() hash.Digest { return t.layers[t.Depth()][0] }

// Distinct returns indices sorted and without repetitions, the order in which
// [Tree.Siblings] and [Verify] take them. It leaves indices alone.
func Distinct(indices []uint64) []uint64 {
	d := slices.Clone(indices)
	slices.Sort(d)
	return slices.Compact(d)
}

// Siblings returns the digests that [Verify] needs besides the leaves at indices, layer by layer from
// the leaves up and from left to right: the siblings of nodes that are known or computed, unless they
// are known or computed too. indices must be strictly increasing and below the number of leaves; it
// panics otherwise.
func (t *Tree) Siblings(indices []uint64) []hash.Digest {
	path := Path(t.Depth(), indices)
	digests := make([]hash.Digest, len(path))
	for i, n := range path {
		digests[i] = t.layers[n.Layer][n.Index]
	}
	return digests
}

// Node is the place of a digest in a tree: its layer, leaves being layer 0, and
// its index there.
type Node struct {
	Layer int
	Index uint64
}

// Path returns the places of the digests that [Tree.Siblings] returns for these indices in a tree
// of 2^depth leaves, in the same order.
func Path(depth int, indices []uint64) []Node {
	if err := checkIndices(indices, depth); err != nil {
		panic("merkle: " + err.Error())
	}
	var path []Node
	known := slices.Clone(indices)
	for layer := range depth {
		known = parents(known, func(sibling uint64) { path = append(path, Node{layer, sibling}) })
	}
	return path
}

// parents returns the parents of the strictly increasing nodes, in the memory of nodes, and
// calls missing for every sibling that is not among the nodes, in increasing order.
func parents(nodes []uint64, missing func(sibling uint64)) []uint64 {
	up := nodes[:0]
	for i := 0; i < len(nodes); i++ {
		node := nodes[i]
		if i+1 < len(nodes) && nodes[i+1] == node^1 {
			i++ // both children are known; node^1 > node, so node is the left one
		} else {
			missing(node ^ 1)
		}
		up = append(up, node>>1)
	}
	return up
}

// checkIndices returns an error unless indices are strictly increasing and below 2^depth.
func checkIndices(indices []uint64, depth int) error {
	for i, index := range indices {
		if index>>depth != 0 {
			return fmt.Errorf("leaf %d of a tree of depth %d", index, depth)
		}
		if i > 0 && indices[i-1] >= index {
			return fmt.Errorf("leaves to open are not strictly increasing: %d, %d", indices[i-1], index)
		}
	}
	return nil
}

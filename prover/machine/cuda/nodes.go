package cuda

import (
	"context"
	"errors"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/merkle"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// nodes is a tree whose digests are on the device, until its layers are asked
// for: then they are in this process's memory.
type nodes struct {
	s       *Stream
	depth   int
	root    hash.Digest
	digests kernels.Ptr  // 0 when they are not on the device
	local   *merkle.Tree // nil unless they are here
}

var _ whir.Nodes = (*nodes)(nil)

// newNodes returns the tree over 2^depth leaves, which fill writes.
func newNodes(s *Stream, suite hash.Suite, depth int, fill func(digests kernels.Ptr)) *nodes {
	p := newArray[hash.Digest](s.dev, kernels.TreeDigests(depth))
	made := false
	defer func() {
		if !made {
			s.dev.Free(p)
		}
	}()
	fill(p)
	check(kernels.MerkleTree(s.dev, suite, p, depth))
	root := fetch[hash.Digest](s.dev, p.Offset(kernels.TreeLayer(depth, depth), kernels.SizeDigest), 1)[0]
	made = true
	return &nodes{s: s, depth: depth, root: root, digests: p}
}

// free gives the device's memory back.
func (n *nodes) free() {
	n.s.dev.Free(n.digests)
	n.digests = 0
}

// Depth implements whir.Nodes.
func (n *nodes) Depth() int { return n.depth }

// Root implements whir.Nodes.
func (n *nodes) Root() hash.Digest { return n.root }

var errClosed = errors.New("a commitment was used after its backend was closed")

// Path implements whir.Nodes.
func (n *nodes) Path(ctx context.Context, positions []uint64) ([]hash.Digest, error) {
	return pass(ctx, func() []hash.Digest { return n.path(positions) })
}

func (n *nodes) path(positions []uint64) []hash.Digest {
	if n.local != nil {
		return n.local.Siblings(positions)
	}
	if n.digests == 0 || n.s.closed {
		check(errClosed)
	}
	path := merkle.Path(n.depth, positions)
	if len(path) == 0 {
		return nil
	}
	indexes := make([]uint64, len(path))
	for i, at := range path {
		indexes[i] = uint64(kernels.TreeLayer(n.depth, at.Layer)) + at.Index
	}
	a := newScope(n.s.dev)
	defer a.close()
	dst := newArray[hash.Digest](a, len(path))
	check(kernels.GatherDigests(n.s.dev, dst, n.digests, newCopy(a, indexes), len(path)))
	return fetch[hash.Digest](n.s.dev, dst, len(path))
}

// Layers implements whir.Nodes. The digests move to this process's memory.
func (n *nodes) Layers(ctx context.Context) ([][]hash.Digest, error) {
	return pass(ctx, n.layers)
}

func (n *nodes) layers() [][]hash.Digest {
	if n.local == nil {
		if n.digests == 0 || n.s.closed {
			check(errClosed)
		}
		all := fetch[hash.Digest](n.s.dev, n.digests, kernels.TreeDigests(n.depth))
		layers := make([][]hash.Digest, n.depth+1)
		for l := range layers {
			from := kernels.TreeLayer(n.depth, l)
			layers[l] = all[from : from+1<<(n.depth-l) : from+1<<(n.depth-l)]
		}
		var err error
		n.local, err = merkle.FromLayers(layers)
		check(err)
		n.free()
	}
	return n.local.Layers()
}

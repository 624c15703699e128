package open

import (
	"context"
	"errors"
	"os"
	"sync"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/merkle"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// nodes is a tree whose digests are on the device. Layers moves them to the host's memory.
type nodes struct {
	s       *run.Stream // whose scope owns the digests
	depth   int
	root    hash.Digest
	digests kernels.Ptr          // 0 when they are not on the device
	local   *merkle.Tree         // the digests in the host's memory; nil while they are on the device
	room    func() []hash.Digest // returns memory of the host for all digests, the same each time
}

var _ whir.Nodes = (*nodes)(nil)

// NewNodes returns the tree over 2^depth leaves. It calls fill, which writes the leaves to digests. With keep, memory of the host for all
// digests is prepared meanwhile, as Layers will be called.
func NewNodes(s *run.Stream, suite hash.Suite, depth int, keep bool, fill func(digests kernels.Ptr)) *nodes {
	room := sync.OnceValue(func() []hash.Digest { return touched(kernels.TreeDigests(depth)) })
	if keep {
		go room()
	}
	p := device.NewArray[hash.Digest](s.Dev, kernels.TreeDigests(depth))
	made := false
	defer func() {
		if !made {
			s.Dev.Free(p)
		}
	}()
	fill(p)
	device.Check(kernels.MerkleTree(s.Dev, suite, p, depth))
	root := device.Fetch[hash.Digest](s.Dev, p.Offset(kernels.TreeLayer(depth, depth), kernels.SizeDigest), 1)[0]
	made = true
	return &nodes{s: s, depth: depth, root: root, digests: p, room: room}
}

// touched returns memory for n digests, and has written to each of its pages. The system provides a page when it is first written to, and
// takes a microsecond or two for it: half a second of processor time for a gigabyte.
func touched(n int) []hash.Digest {
	digests, page := make([]hash.Digest, n), os.Getpagesize()/kernels.SizeDigest
	parallel.For((n+page-1)/page, 1<<12, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			digests[i*page] = hash.Digest{}
		}
	})
	return digests
}

// free frees the digests on the device.
func (n *nodes) free() {
	n.s.Dev.Free(n.digests)
	n.digests = 0
}

// Depth implements whir.Nodes, as Root, Path and Layers do.
func (n *nodes) Depth() int { return n.depth }

func (n *nodes) Root() hash.Digest { return n.root }

// ErrClosed is the error of a tree whose digests were freed with the stream that owned them.
var ErrClosed = errors.New("a commitment was used after its backend was closed")

// check gives up if the digests are not on the device any more.
func (n *nodes) check() {
	if n.digests == 0 || n.s.Closed {
		device.Check(ErrClosed)
	}
}

// Path gathers the digests on the device and downloads these alone.
func (n *nodes) Path(ctx context.Context, positions []uint64) ([]hash.Digest, error) {
	return device.Pass(ctx, func() []hash.Digest { return n.siblings(positions) })
}

// siblings is Path, but gives up after an error in place of returning it.
func (n *nodes) siblings(positions []uint64) []hash.Digest {
	if n.local != nil {
		return n.local.Siblings(positions)
	}
	n.check()
	path := merkle.Path(n.depth, positions)
	if len(path) == 0 {
		return nil
	}
	indexes := make([]uint64, len(path))
	for i, at := range path {
		indexes[i] = uint64(kernels.TreeLayer(n.depth, at.Layer)) + at.Index
	}
	a := device.NewScope(n.s.Dev)
	defer a.Close()
	dst := device.NewArray[hash.Digest](a, len(path))
	device.Check(kernels.GatherDigests(n.s.Dev, dst, n.digests, device.NewCopy(a, indexes), len(path)))
	return device.Fetch[hash.Digest](n.s.Dev, dst, len(path))
}

// Layers implements whir.Nodes. It moves the digests to the host's memory.
func (n *nodes) Layers(ctx context.Context) ([][]hash.Digest, error) {
	return device.Pass(ctx, n.layers)
}

// layers is Layers, but gives up after an error in place of returning it.
func (n *nodes) layers() [][]hash.Digest {
	if n.local == nil {
		n.check()
		all := n.room()
		device.Check(kernels.DownloadSlice(n.s.Dev, all, n.digests))
		layers := make([][]hash.Digest, n.depth+1)
		for l := range layers {
			from := kernels.TreeLayer(n.depth, l)
			layers[l] = all[from : from+1<<(n.depth-l) : from+1<<(n.depth-l)]
		}
		var err error
		n.local, err = merkle.FromLayers(layers)
		device.Check(err)
		n.free()
	}
	return n.local.Layers()
}

package cuda

import (
	"context"
	"errors"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/merkle"
	"github.com/prove-model/prove-model/prover/poseidon2"
	"github.com/prove-model/prove-model/prover/whir"
)

// Commit implements backend.Backend.
func (b *Backend) Commit(ctx context.Context, c backend.Commitment) (_ *whir.Tree, err error) {
	defer catch(&err)
	a := newScope(b.dev)
	defer a.close()
	p := b.newPacker(a, c)
	domain := c.LogDomain()
	n := 0 // rows at once
	for _, g := range c.Groups {
		n = max(n, rowsAtOnce(g.Rows, domain, b.m.piece))
	}
	values := newArray[int32](a, n<<c.RowVars)
	e := newEncoder(a, domain)
	words := e.words(n, domain)
	return whir.NewTree(c.Layout, b.newNodes(domain, func(leaves kernels.Ptr) {
		h := newHashing(a, 1<<domain, leaves, len(c.Groups))
		for i, g := range c.Groups {
			for first := 0; first < g.Rows; first += n {
				check(ctx.Err())
				k := min(n, g.Rows-first)
				p.rows(values, i, first, k)
				e.encode(words, values, k, c.RowVars, domain)
				h.absorb(words, k, g.Rows)
			}
		}
	})), nil
}

// rowsAtOnce returns how many of some rows are encoded at once: those whose
// codewords fit into as many bytes, but enough for a permutation of the hash.
func rowsAtOnce(rows, domain, bytes int) int {
	n := max(poseidon2.Rate, bytes/kernels.SizeM31>>domain)
	return min(rows, n&^(poseidon2.Rate-1), maxEncode)
}

// maxEncode is the most rows that one launch encodes.
const maxEncode = 1 << 15

// encoder is the circle code on a device.
type encoder struct {
	a        *scope
	twiddles kernels.Ptr
}

// newEncoder returns an encoder for domains of up to 2^domain points.
func newEncoder(a *scope, domain int) *encoder {
	e := &encoder{a, newArray[uint32](a, 1<<domain)}
	check(kernels.Twiddles(a, e.twiddles, domain))
	return e
}

// words returns room for n codewords.
func (e *encoder) words(n, domain int) kernels.Ptr { return newArray[uint32](e.a, n<<domain) }

// encode sets words to the codewords of n rows of 2^vars values.
func (e *encoder) encode(words, values kernels.Ptr, n, vars, domain int) {
	for n > 0 {
		k := min(n, maxEncode)
		check(kernels.Encode(e.a, words, values, e.twiddles, k, vars, domain))
		words = words.Offset(k<<domain, kernels.SizeM31)
		values = values.Offset(k<<vars, kernels.SizeM31)
		n -= k
	}
}

// hashing makes the leaves of columns of matrices that come in parts, a group of
// rows each.
type hashing struct {
	a                 *scope
	columns           int
	leaves            kernels.Ptr // and digests of the group in hand
	groups, group     int         // in all, number of the one in hand
	absorbed          int         // rows of it
	state, capacities kernels.Ptr // of the sponges of groups and of leaves, 0 until wanted
}

func newHashing(a *scope, columns int, leaves kernels.Ptr, groups int) *hashing {
	return &hashing{a: a, columns: columns, leaves: leaves, groups: groups}
}

// absorb absorbs the next n of the rows of a group.
func (h *hashing) absorb(words kernels.Ptr, n, rows int) {
	if h.state == 0 && n < rows {
		h.state = newArray[poseidon2.State](h.a, h.columns)
	}
	check(kernels.HashColumns(h.a, h.leaves, h.state, words, h.columns, h.columns, n, h.absorbed, rows))
	if h.absorbed += n; h.absorbed < rows {
		return
	}
	h.absorbed = 0
	if h.groups > 1 {
		if h.capacities == 0 {
			h.capacities = newArray[poseidon2.Digest](h.a, h.columns)
		}
		check(kernels.AbsorbDigests(h.a, h.leaves, h.capacities, h.leaves, h.columns, h.group, h.groups))
	}
	h.group++
}

// nodes is a tree whose digests are on the device, until its layers are asked
// for: then they are in this process's memory.
type nodes struct {
	b       *Backend
	depth   int
	root    poseidon2.Digest
	digests kernels.Ptr  // 0 when they are not on the device
	local   *merkle.Tree // nil unless they are here
}

var _ whir.Nodes = (*nodes)(nil)

// newNodes returns the tree over 2^depth leaves, which fill writes.
func (b *Backend) newNodes(depth int, fill func(digests kernels.Ptr)) *nodes {
	p := newArray[poseidon2.Digest](b.dev, kernels.TreeDigests(depth))
	fill(p)
	check(kernels.MerkleTree(b.dev, p, depth))
	root := fetch[poseidon2.Digest](b.dev, p.Offset(kernels.TreeLayer(depth, depth), kernels.SizeDigest), 1)[0]
	n := &nodes{b: b, depth: depth, root: root, digests: p}
	b.nodes[n] = struct{}{}
	return n
}

// free gives the device's memory back.
func (n *nodes) free() {
	n.b.dev.Free(n.digests)
	n.digests = 0
	delete(n.b.nodes, n)
}

// Depth implements whir.Nodes.
func (n *nodes) Depth() int { return n.depth }

// Root implements whir.Nodes.
func (n *nodes) Root() poseidon2.Digest { return n.root }

var errClosed = errors.New("a commitment was used after its backend was closed")

// Path implements whir.Nodes.
func (n *nodes) Path(ctx context.Context, positions []uint64) ([]poseidon2.Digest, error) {
	return pass(ctx, func() []poseidon2.Digest { return n.path(positions) })
}

func (n *nodes) path(positions []uint64) []poseidon2.Digest {
	if n.local != nil {
		return n.local.Siblings(positions)
	}
	if n.digests == 0 {
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
	a := newScope(n.b.dev)
	defer a.close()
	dst := newArray[poseidon2.Digest](a, len(path))
	check(kernels.GatherDigests(n.b.dev, dst, n.digests, newCopy(a, indexes), len(path)))
	return fetch[poseidon2.Digest](n.b.dev, dst, len(path))
}

// Layers implements whir.Nodes. The digests move to this process's memory.
func (n *nodes) Layers(ctx context.Context) ([][]poseidon2.Digest, error) {
	return pass(ctx, n.layers)
}

func (n *nodes) layers() [][]poseidon2.Digest {
	if n.local == nil {
		if n.digests == 0 {
			check(errClosed)
		}
		all := fetch[poseidon2.Digest](n.b.dev, n.digests, kernels.TreeDigests(n.depth))
		layers := make([][]poseidon2.Digest, n.depth+1)
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

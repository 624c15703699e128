package open

import (
	"context"
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
	"github.com/prove-model/prove-model/prover/math/code"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/prf"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// rowsAtOnce returns how many of some rows are encoded at once: as many as have codewords of 2^domain
// values in so many bytes, in multiples of what the hash absorbs in one step, and at least one such step.
func rowsAtOnce(suite hash.Suite, rows, domain, bytes int) int {
	least := suite.RowsAtOnce()
	n := max(least, bytes/kernels.SizeM31>>domain)
	return min(rows, n-n%least, maxEncode)
}

// maxEncode is the most rows that one launch encodes.
const maxEncode = 1 << 15

// NewTwiddles makes the factors for encode, for domains of up to 2^domain points.
func NewTwiddles(a *device.Scope, domain int) kernels.Ptr {
	t := device.NewArray[uint32](a, 1<<domain)
	device.Check(kernels.Twiddles(a, t, domain))
	return t
}

// encode sets words to the codewords, of 2^domain values each, of n rows of 2^vars values.
func encode(a *device.Scope, twiddles, words, values kernels.Ptr, n, vars, domain int) {
	for n > 0 {
		k := min(n, maxEncode)
		device.Check(kernels.Encode(a, words, values, twiddles, k, vars, domain))
		words = words.Offset(k<<domain, kernels.SizeM31)
		values = values.Offset(k<<vars, kernels.SizeM31)
		n -= k
	}
}

// Arrivals are the fixed tensors that are transferred to a device while it hashes groups of rows.
type Arrivals interface {
	// Have says whether Wait for a group would return at once.
	Have(c *backend.Commitment, group int) bool
	// Wait makes the device's stream wait for the tensors that a group reads: what is enqueued from now on runs after they have come.
	Wait(c *backend.Commitment, group int)
	// Find returns a tensor of any kind, as run.Stream.Find does.
	Find(id model.TensorID) (*device.Tensor, error)
}

// groupHasher makes the digests of groups of rows, for each column of their codewords.
type groupHasher struct {
	a             *device.Scope // owns the memory below
	Stream        *run.Stream
	c             *backend.Commitment
	arrivals      Arrivals
	segments      []run.Groups  // the groups that are left, by the segment that recomputes their values
	packs         *device.Scope // owns the memory of packer
	packer        *packer       // for the current group, or for all groups of its segment if that is recomputed
	twiddles      kernels.Ptr
	n             int         // how many rows are encoded at once
	parts         int         // codewords are made in so many parts, one at a time (kernels.EncodePart)
	values, words kernels.Ptr // n rows, and a part of their codewords
	tails         kernels.Ptr // of n rows, in a tree that hides; else 0
	state         kernels.Ptr // of the hashes of all columns, for groups of more than n rows; 0 until wanted
}

// NewGroupHasher returns a hasher for some groups of a commitment, with memory from a.
func NewGroupHasher(b *run.Stream, a *device.Scope, come Arrivals, c *backend.Commitment, groups []int) *groupHasher {
	h := &groupHasher{a: a, Stream: b, c: c, arrivals: come, packs: device.NewScope(a), segments: segmentsOf(b, c, groups)}
	domain, tail := c.LogDomain(), 0 // tail: the longest. With tails the parts of a codeword are made of different values (addTails).
	for _, i := range groups {
		h.n = max(h.n, rowsAtOnce(c.Hash, c.Groups[i].Rows, domain, b.Context.Piece))
		tail = max(tail, c.Groups[i].Tail)
	}
	h.values = device.NewArray[int32](a, h.n<<c.RowVars)
	h.twiddles = NewTwiddles(a, domain)
	if h.parts = 1; tail > 0 || h.n*kernels.SizeM31<<domain > b.Context.Piece {
		h.parts = 1 << c.LogBlowup
	}
	if tail > 0 {
		h.tails = device.NewArray[field.M31](a, h.n*tail)
	}
	h.words = device.NewArray[uint32](a, h.n<<domain/h.parts)
	return h
}

// Next returns the index in groups of the one to hash next: the first whose tensors have all arrived,
// so that the device need not wait, or the first of all. If segments are recomputed, groups keep their
// order, so that each segment is recomputed once.
func (h *groupHasher) Next(groups []int) int {
	if !slices.ContainsFunc(h.segments, func(s run.Groups) bool { return s.Again }) {
		for k, i := range groups {
			if h.arrivals.Have(h.c, i) {
				return k
			}
		}
	}
	return 0
}

// pack makes the packer for a group, unless the current one has the group. It leaves the recomputed segment of the groups before.
func (h *groupHasher) pack(group int) {
	for !slices.Contains(h.segments[0].Of, group) {
		h.packer, h.segments = nil, h.segments[1:]
	}
	some := []int{group}
	if h.segments[0].Again {
		if h.packer != nil {
			return
		}
		some = h.segments[0].Of
	}
	for _, i := range some {
		h.arrivals.Wait(h.c, i)
	}
	h.Stream.LeaveSegments()
	h.packs.Close()
	h.packer = newPacker(h.Stream, h.packs, *h.c, some, h.arrivals.Find)
}

// Digests writes the digests of a group to dst, one for each column. Groups must come in their order, or in that of Next. The rows are
// encoded h.n at a time and in h.parts parts, and each part is hashed before the next one takes its memory.
func (h *groupHasher) Digests(ctx context.Context, dst kernels.Ptr, group int) {
	h.pack(group)
	domain, rows := h.c.LogDomain(), h.c.Groups[group].Rows
	state := kernels.ColumnState(h.c.Hash)
	if h.state == 0 && h.n < rows && state > 0 {
		h.state = device.NewArray[uint8](h.a, state<<domain)
	}
	for first := 0; first < rows; first += h.n {
		device.Check(ctx.Err())
		n := min(h.n, rows-first)
		h.packer.rows(h.values, group, first, n)
		if h.tails != 0 {
			row, tail := uint64(rowsBefore(h.c, group)+first), h.c.Groups[group].Tail
			device.Check(kernels.Elements(h.a, h.tails, &secretsOf(h.c).Key, prf.Tail, row, 0, n, tail))
		}
		columns := 1 << domain / h.parts
		for part := range h.parts {
			h.addTails(group, n, part)
			if h.parts == 1 {
				encode(h.a, h.twiddles, h.words, h.values, n, h.c.RowVars, domain)
			} else {
				device.Check(kernels.EncodePart(h.a, h.words, h.values, h.twiddles, n, h.c.RowVars, domain, part))
			}
			digests, own := kernels.At[hash.Digest](dst, part*columns), h.state
			if own != 0 {
				own = own.Offset(part*columns, state)
			}
			device.Check(kernels.HashColumns(h.a, h.c.Hash, digests, own, h.words, columns, columns, n, first, rows))
		}
	}
}

// addTails adds the tails of n rows of a group, times tau, to the values from which a part of the codewords is made. tau is the point of
// the part's block (code.Domain.Point).
func (h *groupHasher) addTails(group, n, part int) {
	if h.tails == 0 {
		return
	}
	blocks := code.NewDomain(h.c.LogBlowup)
	tau := blocks.Point(uint64(part))
	if part > 0 { // the values still contain the tails times the point of the part before
		tau = tau.Sub(blocks.Point(uint64(part - 1)))
	}
	device.Check(kernels.AddTails(h.a, h.values, h.tails, h.c.RowVars, h.c.Groups[group].Tail, n, tau))
}

// LeafHasher makes the leaves of some columns from the digests of their groups, which it absorbs in order.
type LeafHasher struct {
	a        *device.Scope
	c        *backend.Commitment
	columns  int
	leaves   kernels.Ptr
	Absorbed int         // how many groups have been absorbed
	state    kernels.Ptr // of the hashes, 0 until wanted
}

// NewLeafHasher returns a hasher for `columns` leaves of a commitment, from column `first` on, which are written to leaves.
func NewLeafHasher(a *device.Scope, c *backend.Commitment, leaves kernels.Ptr, first, columns int) *LeafHasher {
	l := &LeafHasher{a: a, c: c, columns: columns, leaves: leaves}
	if c.Salted() {
		const each = len(hash.Digest{})
		device.Check(kernels.Elements(a, leaves, &secretsOf(c).Key, prf.Salt, 0, uint64(each*first), 1, each*columns))
		l.Absorbed = -1 // the salts are absorbed as a group before group 0
		l.Absorb(leaves)
	}
	return l
}

// Absorb absorbs the digests of the next group. They may lie in the memory of the leaves. If the
// commitment has one group alone and no salts, its digests are the leaves, and must lie there.
func (l *LeafHasher) Absorb(digests kernels.Ptr) {
	salts := 0
	if l.c.Salted() {
		salts = 1
	}
	if groups := len(l.c.Groups) + salts; groups > 1 {
		if l.state == 0 {
			l.state = device.NewArray[uint8](l.a, l.columns*kernels.DigestState(l.c.Hash, groups))
		}
		device.Check(kernels.AbsorbDigests(l.a, l.c.Hash, l.leaves, l.state, digests, l.columns, l.Absorbed+salts, groups, salts > 0))
	}
	l.Absorbed++
}

// HashLeaves makes the leaves of all columns on one machine. l, if not nil, has absorbed the first groups already, into memory of its own.
func HashLeaves(
	ctx context.Context, b *run.Stream, a *device.Scope, come Arrivals, c *backend.Commitment, l *LeafHasher, leaves kernels.Ptr,
) {
	if l == nil {
		l = NewLeafHasher(a, c, leaves, 0, 1<<c.LogDomain())
	} else {
		device.Check(a.Copy(leaves, l.leaves, l.columns*kernels.SizeDigest))
		l.a, l.leaves = a, leaves
	}
	var left []int
	for i := l.Absorbed; i < len(c.Groups); i++ {
		left = append(left, i)
	}
	if len(left) == 0 {
		return
	}
	h := NewGroupHasher(b, a, come, c, left)
	for _, i := range left {
		h.Digests(ctx, leaves, i)
		l.Absorb(leaves)
	}
	h.Stream.LeaveSegments()
}

package cuda

import (
	"context"
	"errors"
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/merkle"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// Commit implements backend.Backend. The machines of a team share the groups of rows; the
// share of one that fails is done again by the others.
func (b *Backend) Commit(ctx context.Context, c backend.Commitment) (*whir.Tree, error) {
	for {
		tree, err := b.commit(ctx, c, b.dealGroups(&c))
		var failed *MachineError
		if ctx.Err() != nil || !errors.As(err, &failed) || !b.drop(failed) {
			return tree, err
		}
	}
}

// commit is Commit with the groups dealt to machines: 0 is that of b, i that of
// b.team.Others[i-1].
func (b *Backend) commit(ctx context.Context, c backend.Commitment, homes []int) (_ *whir.Tree, err error) {
	defer catch(&err)
	a := newScope(b.dev)
	defer a.close()
	used := map[int]bool{}
	for _, home := range homes {
		used[home] = true
	}
	mates, numbers := b.mates(used)
	machines, of := append([]*Backend{b}, mates...), make([]int, len(homes)) // by group
	for i, home := range homes {
		of[i] = slices.Index(numbers, home) + 1
	}
	come := shipTo(ctx, &c, machines, of, shipPiece)
	made := false
	defer func() { come.end(!made) }()
	shares := make([]*scope, len(mates)) // of their memory
	for i, mate := range mates {
		shares[i] = newScope(mate.dev)
	}
	defer func() {
		if len(shares) > 0 { // nothing reads what another one has any more; what failed has been told
			for _, x := range machines {
				_ = x.dev.Sync()
			}
		}
		for _, s := range shares {
			s.close()
		}
	}()
	columns := 1 << c.LogDomain()
	return whir.NewTree(c.Layout, b.newNodes(c.Hash, c.LogDomain(), func(leaves kernels.Ptr) {
		if len(mates) == 0 {
			hashLeaves(ctx, a, come.all[0], &c, leaves)
			made = true
			return
		}
		t := &sharedLeaves{c: &c, columns: columns, of: of, machines: machines, scopes: append([]*scope{a}, shares...), digests: make([]kernels.Ptr, len(homes))}
		together(ctx, func() { t.hash(ctx, come.all[0], 0) }, mates, func(ctx context.Context, i int) { t.hash(ctx, come.all[i+1], i+1) })
		made = true
		t.absorb(ctx, leaves)
	})), nil
}

// hashLeaves makes the leaves of all columns on one machine.
func hashLeaves(ctx context.Context, a *scope, come *arrivals, c *backend.Commitment, leaves kernels.Ptr) {
	all := make([]int, len(c.Groups))
	for i := range all {
		all[i] = i
	}
	h := newGroupHasher(a, come, c, all)
	l := &leafHasher{a: a, suite: c.Hash, columns: 1 << c.LogDomain(), leaves: leaves, groups: len(all)}
	for _, i := range all {
		h.digests(ctx, leaves, i)
		l.absorb(leaves)
	}
	h.b.leaveStretches()
}

// sharedLeaves are the leaves of a commitment that several machines make: first each the digests of
// its groups, then each, of some of the columns, the leaves from the digests of all groups.
type sharedLeaves struct {
	c        *backend.Commitment
	columns  int
	of       []int      // machines, by group
	machines []*Backend // that of the tree first
	scopes   []*scope   // of their memory
	digests  []kernels.Ptr
}

// hash makes the digests of a machine's groups.
func (t *sharedLeaves) hash(ctx context.Context, come *arrivals, machine int) {
	a, groups := t.scopes[machine], groupsOf(t.of, machine)
	if len(groups) == 0 {
		return
	}
	h := newGroupHasher(a, come, t.c, groups)
	for len(groups) > 0 {
		k := h.next(groups)
		i := groups[k]
		t.digests[i] = newArray[hash.Digest](a, t.columns)
		h.digests(ctx, t.digests[i], i)
		groups = slices.Delete(groups, k, k+1)
	}
	h.b.leaveStretches()
}

// absorb makes the leaves.
func (t *sharedLeaves) absorb(ctx context.Context, leaves kernels.Ptr) {
	own, mates := t.machines[0], t.machines[1:]
	from := func(machine int) int { return t.columns * machine / len(t.machines) }
	parts := make([]kernels.Ptr, len(t.machines)) // of the leaves
	parts[0] = leaves
	some := func(machine int) { t.absorbSome(machine, parts[machine], from(machine), from(machine+1)) }
	together(ctx, func() { some(0) }, mates, func(_ context.Context, i int) {
		parts[i+1] = newArray[hash.Digest](t.scopes[i+1], from(i+2)-from(i+1))
		some(i + 1)
	})
	for i, mate := range mates {
		behind(own.dev, mate)
		bring(own.dev, kernels.At[hash.Digest](leaves, from(i+1)), mate, parts[i+1], (from(i+2)-from(i+1))*kernels.SizeDigest)
	}
}

// absorbSome makes the leaves of columns from `from` to to−1 on a machine.
func (t *sharedLeaves) absorbSome(machine int, leaves kernels.Ptr, from, to int) {
	if from == to {
		return
	}
	b, a := t.machines[machine], t.scopes[machine]
	for i, other := range t.machines {
		if i != machine {
			behind(b.dev, other)
		}
	}
	l := &leafHasher{a: a, suite: t.c.Hash, columns: to - from, leaves: leaves, groups: len(t.of)}
	room := newArray[hash.Digest](a, to-from)
	for i, home := range t.of {
		digests := kernels.At[hash.Digest](t.digests[i], from)
		if home != machine {
			bring(b.dev, room, t.machines[home], digests, (to-from)*kernels.SizeDigest)
			digests = room
		}
		l.absorb(digests)
	}
}

// groupsOf lists the groups of a home.
func groupsOf(homes []int, home int) []int {
	var own []int
	for i, h := range homes {
		if h == home {
			own = append(own, i)
		}
	}
	return own
}

// rowsAtOnce returns how many of some rows are encoded at once: those whose
// codewords fit into as many bytes, but enough for a step of the hash.
func rowsAtOnce(suite hash.Suite, rows, domain, bytes int) int {
	least := suite.RowsAtOnce()
	n := max(least, bytes/kernels.SizeM31>>domain)
	return min(rows, n-n%least, maxEncode)
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

// groupHasher makes the digests of groups of rows, for each column of their codewords.
type groupHasher struct {
	a             *scope
	b             *Backend
	c             *backend.Commitment
	arrivals      *arrivals // of the fixed tensors
	stretches     [][]int   // groups whose values are on the device together, in order; nil if each is by itself
	packs         *scope    // of the packer
	packer        *packer   // for the first of these
	encoder       *encoder
	n             int // rows at once
	values, words kernels.Ptr
	state         kernels.Ptr // of the hashes, 0 until wanted
}

// newGroupHasher returns one for these groups, on the machine to which the fixed tensors come.
func newGroupHasher(a *scope, come *arrivals, c *backend.Commitment, groups []int) *groupHasher {
	b := come.b
	h := &groupHasher{a: a, b: b, c: c, arrivals: come, packs: newScope(a), stretches: b.stretchesOf(c, groups)}
	domain := c.LogDomain()
	for _, i := range groups {
		h.n = max(h.n, rowsAtOnce(c.Hash, c.Groups[i].Rows, domain, b.m.piece))
	}
	h.values = newArray[int32](a, h.n<<c.RowVars)
	h.encoder = newEncoder(a, domain)
	h.words = h.encoder.words(h.n, domain)
	return h
}

// next returns the number in a list of the group that is to be hashed next: the first of which all
// tensors are there, if they come by themselves, so that the device need not wait for others.
func (h *groupHasher) next(groups []int) int {
	if h.stretches == nil {
		for k, i := range groups {
			if h.arrivals.have(h.c, i) {
				return k
			}
		}
	}
	return 0
}

// pack makes the packer that has a group's rows.
func (h *groupHasher) pack(group int) {
	some := []int{group}
	if h.stretches != nil {
		for !slices.Contains(h.stretches[0], group) {
			h.packer, h.stretches = nil, h.stretches[1:]
		}
		if h.packer != nil {
			return
		}
		some = h.stretches[0]
	}
	for _, i := range some {
		h.arrivals.wait(h.c, i)
	}
	h.b.leaveStretches()
	h.packs.close()
	h.packer = h.b.newPackerOf(h.packs, *h.c, some, h.arrivals.find)
}

// digests writes those of a group to dst. Groups come in their order, or in that of next.
func (h *groupHasher) digests(ctx context.Context, dst kernels.Ptr, group int) {
	h.pack(group)
	domain, rows := h.c.LogDomain(), h.c.Groups[group].Rows
	if h.state == 0 && h.n < rows {
		h.state = newArray[uint8](h.a, kernels.ColumnState(h.c.Hash)<<domain)
	}
	for first := 0; first < rows; first += h.n {
		check(ctx.Err())
		n := min(h.n, rows-first)
		h.packer.rows(h.values, group, first, n)
		h.encoder.encode(h.words, h.values, n, h.c.RowVars, domain)
		check(kernels.HashColumns(h.a, h.c.Hash, dst, h.state, h.words, 1<<domain, 1<<domain, n, first, rows))
	}
}

// leafHasher makes the leaves of columns from the digests of their groups, in order.
type leafHasher struct {
	a        *scope
	suite    hash.Suite
	columns  int
	leaves   kernels.Ptr
	groups   int // in all
	absorbed int
	state    kernels.Ptr // of the hashes, 0 until wanted
}

// absorb absorbs the digests of the next group, which may be where the leaves will be, and
// are there if it is the only one.
func (l *leafHasher) absorb(digests kernels.Ptr) {
	if l.groups > 1 {
		if l.state == 0 {
			l.state = newArray[uint8](l.a, l.columns*kernels.DigestState(l.suite, l.groups))
		}
		check(kernels.AbsorbDigests(l.a, l.suite, l.leaves, l.state, digests, l.columns, l.absorbed, l.groups))
	}
	l.absorbed++
}

// nodes is a tree whose digests are on the device, until its layers are asked
// for: then they are in this process's memory.
type nodes struct {
	b       *Backend
	depth   int
	root    hash.Digest
	digests kernels.Ptr  // 0 when they are not on the device
	local   *merkle.Tree // nil unless they are here
}

var _ whir.Nodes = (*nodes)(nil)

// newNodes returns the tree over 2^depth leaves, which fill writes.
func (b *Backend) newNodes(suite hash.Suite, depth int, fill func(digests kernels.Ptr)) *nodes {
	p := newArray[hash.Digest](b.dev, kernels.TreeDigests(depth))
	made := false
	defer func() {
		if !made {
			b.dev.Free(p)
		}
	}()
	fill(p)
	check(kernels.MerkleTree(b.dev, suite, p, depth))
	root := fetch[hash.Digest](b.dev, p.Offset(kernels.TreeLayer(depth, depth), kernels.SizeDigest), 1)[0]
	n := &nodes{b: b, depth: depth, root: root, digests: p}
	b.nodes[n] = struct{}{}
	made = true
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
	dst := newArray[hash.Digest](a, len(path))
	check(kernels.GatherDigests(n.b.dev, dst, n.digests, newCopy(a, indexes), len(path)))
	return fetch[hash.Digest](n.b.dev, dst, len(path))
}

// Layers implements whir.Nodes. The digests move to this process's memory.
func (n *nodes) Layers(ctx context.Context) ([][]hash.Digest, error) {
	return pass(ctx, n.layers)
}

func (n *nodes) layers() [][]hash.Digest {
	if n.local == nil {
		if n.digests == 0 {
			check(errClosed)
		}
		all := fetch[hash.Digest](n.b.dev, n.digests, kernels.TreeDigests(n.depth))
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

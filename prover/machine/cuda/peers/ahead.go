package peers

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/open"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// A forward pass is on one machine at a time. Meanwhile the others hash what they have computed of it: the groups of rows whose
// values are complete, on a queue beside that of the pass. The commitment takes their digests, and hashes what is left. A single
// machine whose run does not keep all values hashes them before they are dropped, so that the commitment need not make them again.

// Ahead are the digests of groups of commitments to the values of a run, made while it goes on.
type Ahead struct {
	mu    sync.Mutex
	trees []*aheadTree // that nobody has taken
}

var _ run.Watcher = (*Ahead)(nil)

// aheadTree is a commitment with the digests of some groups.
type aheadTree struct {
	c       backend.Commitment
	alone   bool              // one machine hashes all groups, in their order
	homes   []*device.Context // by group
	missing []map[int]bool    // by group, the chunks that it waits for; none of one that is hashed, or is not to be
	on      map[*device.Context]*aheadMachine
}

// aheadMachine is what one machine hashes of a commitment.
type aheadMachine struct {
	stream  *run.Stream   // of the run
	a       *device.Scope // of what follows
	hash    func(ctx context.Context, dst kernels.Ptr, group int)
	digests map[int]kernels.Ptr // by group, of one of several machines
	leaves  *open.LeafHasher    // of the only machine: digests are absorbed at once
	at      kernels.Ptr         // where they are made
}

// NewAhead returns what makes digests of commitments to the values of a run of g that begins, nil if one machine runs all of it and keeps
// all values, or one has too little memory or values of other runs: when these proofs take theirs is not known. Commitments of fewer values
// than `least` are not shared (Group).
func NewAhead(r *run.Run, g *model.Graph, least int, list []backend.Commitment) *Ahead {
	a := &Ahead{}
	alone := !slices.ContainsFunc(r.Contexts, func(m *device.Context) bool { return m != r.Contexts[0] })
	digests, rows := map[*device.Context]int{}, map[*device.Context]int{} // bytes, of all groups and of the largest
	for _, c := range list {
		if c.Rows()<<c.RowVars < least || len(c.Groups) == 1 || c.Salted() || alone && !r.Drops(&c) {
			continue
		}
		t := &aheadTree{c: c, alone: alone, on: map[*device.Context]*aheadMachine{}}
		for i := range c.Groups {
			at, missing := homeOf(r, g, &c, i), chunksOf(g, &c, i)
			if t.homes, t.missing = append(t.homes, at), append(t.missing, missing); len(missing) == 0 {
				continue
			}
			if digests[at] += kernels.SizeDigest << c.LogDomain(); alone {
				digests[at] = (kernels.SizeDigest + kernels.DigestState(c.Hash, len(c.Groups))) << c.LogDomain()
			}
			rows[at] = max(rows[at], min(at.Piece, c.Groups[i].Rows*kernels.SizeM31<<c.LogDomain()))
		}
		a.trees = append(a.trees, t)
	}
	for m, n := range digests { // the pass must not be short of memory for them
		need, spare := 2*(n+2*rows[m]), m.Spare()
		if free := m.FreeBytes(); m.Busy() || free > 0 && free < need || spare > 0 && spare < int64(need) {
			return nil
		}
	}
	if len(digests) == 0 {
		return nil
	}
	return a
}

// homeOf returns the machine on which a run leaves the values of a group, nil if they are not a run's.
func homeOf(r *run.Run, g *model.Graph, c *backend.Commitment, group int) *device.Context {
	if r == nil || c.Parts[group].Kind != backend.Tensors {
		return nil
	}
	first := &g.Tensors[c.Parts[group].Stack.Blocks[0].Tensor]
	if first.Kind != model.Witness {
		return nil
	}
	return r.Contexts[min(first.Chunk, len(r.Contexts)-1)]
}

// chunksOf returns the chunks that compute what a group reads, none if it reads anything else.
func chunksOf(g *model.Graph, c *backend.Commitment, group int) map[int]bool {
	chunks := map[int]bool{}
	for b := range c.Blocks(group) {
		t := &g.Tensors[b.Tensor]
		if t.Kind != model.Witness || t.Chunk >= g.Chunks {
			return nil
		}
		chunks[t.Chunk] = true
	}
	return chunks
}

// Reached implements run.Watcher. An error only means that there are no digests: whoever needs them meets it again.
func (a *Ahead) Reached(ctx context.Context, r *run.Run, chunk int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.trees {
		for i, missing := range t.missing {
			if !missing[chunk] {
				continue
			}
			if delete(missing, chunk); len(missing) > 0 {
				continue
			}
			if err := pass(ctx, func() { t.add(ctx, r, i) }); err != nil {
				a.drop()
				return
			}
		}
	}
}

// add enqueues the hashing of a group. One machine alone leaves those behind one that is not complete in its turn to the commitment.
func (t *aheadTree) add(ctx context.Context, r *run.Run, group int) {
	at := t.homes[group]
	m := t.on[at]
	if m == nil {
		m = t.begin(r, at)
	}
	if t.alone && m.leaves.Absorbed != group {
		return
	}
	device.Check(kernels.After(m.stream.Dev, at.Dev))
	dst := m.at
	if !t.alone {
		dst = device.NewArray[hash.Digest](m.a, 1<<t.c.LogDomain())
		m.digests[group] = dst
	}
	m.hash(ctx, dst, group)
	if t.alone {
		m.leaves.Absorb(dst)
		device.Check(kernels.After(at.Dev, m.stream.Dev)) // the run's next values may take the place of these
	}
}

// begin has a machine hash the groups whose values are there.
func (t *aheadTree) begin(r *run.Run, at *device.Context) *aheadMachine {
	s, err := r.Stream(at, at.Streams+aheadQueue)
	device.Check(err)
	m := &aheadMachine{stream: s, a: device.NewScope(s.Dev), digests: map[int]kernels.Ptr{}}
	t.on[at] = m
	m.hash = open.NewGroupHasher(s, m.a, m, &t.c, groupsOf(t.homes, at)).Digests
	if t.alone {
		columns := 1 << t.c.LogDomain()
		m.at = device.NewArray[hash.Digest](m.a, columns)
		m.leaves = open.NewLeafHasher(m.a, &t.c, m.at, 0, columns)
	}
	return m
}

// groupsOf lists the groups of an owner.
func groupsOf[T comparable](owners []T, owner T) []int {
	var own []int
	for i, x := range owners {
		if x == owner {
			own = append(own, i)
		}
	}
	return own
}

// aheadQueue is the number of the queue that hashes, behind those of streams, rows and arrivals.
const aheadQueue = 2

// errElsewhere is the reason why a group cannot be hashed where the run has left most of it.
var errElsewhere = errors.New("a value of a group of rows is on another device")

// Have implements open.Arrivals, as Wait and Find do: groups are hashed when all of them is there.
func (m *aheadMachine) Have(*backend.Commitment, int) bool { return true }

func (m *aheadMachine) Wait(*backend.Commitment, int) {}

func (m *aheadMachine) Find(id model.TensorID) (*device.Tensor, error) {
	if t := m.stream.Run.On(m.stream.Context, id); t != nil {
		return t, nil
	}
	return nil, errElsewhere
}

// take returns what there is of a commitment, nil if there is nothing. It is the caller's to close.
func (a *Ahead) take(c *backend.Commitment) *aheadTree {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, t := range a.trees {
		if reflect.DeepEqual(&t.c, c) { // which may be another plan's
			a.trees = slices.Delete(a.trees, i, i+1)
			return t
		}
	}
	return nil
}

// Close implements run.Watcher.
func (a *Ahead) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drop()
}

// drop gives up what nobody has taken.
func (a *Ahead) drop() {
	for _, t := range a.trees {
		t.close()
	}
	a.trees = nil
}

// close gives the digests back, if there are any, which no queue reads any more.
func (t *aheadTree) close() {
	if t == nil {
		return
	}
	for _, m := range t.on {
		_ = quiesce(m.stream.Dev) // what it has failed with is told where it matters
		m.a.Close()
		m.stream.Close()
	}
}

// of returns what a machine has hashed, with its queue waiting for that; nothing if it has hashed nothing.
func (t *aheadTree) of(s *run.Stream) *aheadMachine {
	if t == nil || t.on[s.Context] == nil {
		return &aheadMachine{}
	}
	m := t.on[s.Context]
	device.Check(kernels.After(s.Dev, m.stream.Dev))
	return m
}

// running returns the digests that were made while the leader's run went on, nil if none were.
func (b *Leader) running() *Ahead {
	if b.s.Run == nil {
		return nil
	}
	a, _ := b.s.Run.Watcher().(*Ahead)
	return a
}

// Committed says that there are no more commitments to the values of a run.
func (b *Leader) Committed() {
	if a := b.running(); a != nil {
		a.Close()
	}
}

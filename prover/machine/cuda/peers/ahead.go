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

// A forward pass runs on one machine at a time. Meanwhile the other machines hash the values that the pass has left there: each group of
// rows whose values are complete, on a queue beside that of the pass. The commitment later takes these digests and hashes only the
// rest. A single machine whose run does not keep all values hashes them before they are dropped, so that the commitment need not
// recompute them.

// Ahead makes digests of groups of rows, for commitments to the values of a run, while the run goes on. The queue that hashes waits for
// the queue of the run. On a single machine the run's queue also waits for the hashing, since it then overwrites the values. Digests
// belong to the Ahead until a commitment takes them (take), which then closes them.
type Ahead struct {
	mu    sync.Mutex
	trees []*aheadTree // that no commitment has taken
}

var _ run.Watcher = (*Ahead)(nil)

// aheadTree is a commitment with the digests of some of its groups.
type aheadTree struct {
	c       backend.Commitment
	alone   bool              // one machine hashes all groups, in their order
	homes   []*device.Context // by group: the machine that has its values
	missing []map[int]bool    // by group: the chunks whose values it still waits for; empty if it is hashed, or is never hashed ahead
	on      map[*device.Context]*aheadMachine
}

// aheadMachine is the work of one machine for an aheadTree, and its digests.
type aheadMachine struct {
	stream  *run.Stream   // the queue that hashes
	a       *device.Scope // owns all memory below
	hash    func(ctx context.Context, dst kernels.Ptr, group int)
	digests map[int]kernels.Ptr // by group, on one of several machines
	leaves  *open.LeafHasher    // on a single machine, which absorbs the digests of each group at once
	at      kernels.Ptr         // on a single machine: where the digests of one group are made
}

// NewAhead prepares the hashing of the commitments of list to the values of a run of g that begins. It returns nil if there is nothing to
// hash ahead (one machine runs all of g and keeps all values), or if a machine has too little memory for it, or has values of other
// runs: when the proofs of these will take memory is not known. Commitments are left out if they have fewer values than `least`
// (Group.Least), a single group, or salts.
func NewAhead(r *run.Run, g *model.Graph, least int, list []backend.Commitment) *Ahead {
	a := &Ahead{}
	alone := !slices.ContainsFunc(r.Contexts, func(m *device.Context) bool { return m != r.Contexts[0] })
	digests, rows := map[*device.Context]int{}, map[*device.Context]int{} // bytes: all digests, and codewords of the largest group
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
	for m, n := range digests { // twice what they take must be free, so that the forward pass does not run out of memory
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

// homeOf returns the machine on which a run leaves the first tensor of a group, nil if that is not a value of a run.
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

// chunksOf returns the chunks that compute the tensors of a group, nil if it also has tensors that no chunk computes.
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

// Reached implements run.Watcher: it enqueues the hashing of the groups that the chunk completes. After an error all digests are
// dropped, and the commitment makes them itself; if the device is at fault, its next operation reports that.
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

// add enqueues the hashing of a group whose values are complete. A single machine absorbs groups in their order, so a group that comes
// before its turn is left to the commitment, and with it all groups after it.
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
		device.Check(kernels.After(at.Dev, m.stream.Dev)) // the run may overwrite these values next
	}
}

// begin makes the queue and the memory with which a machine hashes its groups.
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

// groupsOf returns the indexes i with owners[i] == owner: the groups of an owner.
func groupsOf[T comparable](owners []T, owner T) []int {
	var own []int
	for i, x := range owners {
		if x == owner {
			own = append(own, i)
		}
	}
	return own
}

// errElsewhere is the error of a group that cannot be hashed on its home, since another machine has some of its values.
var errElsewhere = errors.New("a value of a group of rows is on another device")

// Have implements open.Arrivals, as Wait and Find do. Nothing is waited for: a group is hashed only when all its values are there.
func (m *aheadMachine) Have(*backend.Commitment, int) bool { return true }

func (m *aheadMachine) Wait(*backend.Commitment, int) {}

func (m *aheadMachine) Find(id model.TensorID) (*device.Tensor, error) {
	if t := m.stream.Run.On(m.stream.Context, id); t != nil {
		return t, nil
	}
	return nil, errElsewhere
}

// take returns the digests made ahead for a commitment, nil if there are none. The caller owns them and has to close them.
func (a *Ahead) take(c *backend.Commitment) *aheadTree {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, t := range a.trees {
		if reflect.DeepEqual(&t.c, c) { // by content: c may come from another plan than the one that NewAhead was given
			a.trees = slices.Delete(a.trees, i, i+1)
			return t
		}
	}
	return nil
}

// Close implements run.Watcher. It waits for the hashing and frees the digests that no commitment has taken.
func (a *Ahead) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drop()
}

// drop closes all that no commitment has taken. The mutex is held.
func (a *Ahead) drop() {
	for _, t := range a.trees {
		t.close()
	}
	a.trees = nil
}

// close waits for the queues that hash, and frees the digests. No other queue may read the digests any more. A nil t has none.
func (t *aheadTree) close() {
	if t == nil {
		return
	}
	for _, m := range t.on {
		_ = quiesce(m.stream.Dev) // an error of the device is reported by its next operation
		m.a.Close()
		m.stream.Close()
	}
}

// of returns what the machine of stream s has hashed, and makes the queue of s wait for it. If it has hashed nothing, the result is
// empty.
func (t *aheadTree) of(s *run.Stream) *aheadMachine {
	if t == nil || t.on[s.Context] == nil {
		return &aheadMachine{}
	}
	m := t.on[s.Context]
	device.Check(kernels.After(s.Dev, m.stream.Dev))
	return m
}

// running returns the Ahead of the leader's run, nil if it has none.
func (b *Leader) running() *Ahead {
	if b.s.Run == nil {
		return nil
	}
	a, _ := b.s.Run.Watcher().(*Ahead)
	return a
}

// Committed says that no more commitments to the values of the run follow: digests that were made ahead and not taken are freed.
func (b *Leader) Committed() {
	if a := b.running(); a != nil {
		a.Close()
	}
}

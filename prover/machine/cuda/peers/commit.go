package peers

import (
	"context"
	"errors"
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/open"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// Commit implements backend.Backend. The machines of a team share the groups of rows. If one of
// them fails, other than the leader, it is dropped and the commitment is made again without it;
// so there are at most as many attempts as machines.
func (b *Leader) Commit(ctx context.Context, c backend.Commitment) (*whir.Tree, error) {
	for {
		tree, err := b.commit(ctx, c, b.dealGroups(&c))
		var failed *device.Error
		if ctx.Err() != nil || !errors.As(err, &failed) || !b.drop(failed) {
			return tree, err
		}
	}
}

// commit makes one attempt, with the groups dealt to owners. All memory that the machines take for it is in scopes, and is freed at the
// end once no queue reads it any more. What stays are the tree's digests, on the leader, and fixed tensors, which the Contexts own.
func (b *Leader) commit(ctx context.Context, c backend.Commitment, owners []*device.Context) (_ *whir.Tree, err error) {
	defer device.Catch(&err)
	ahead := b.running().take(&c)
	defer func() {
		if ahead != nil { // if the commitment has failed, the leader's queue may still read memory of ahead
			_ = quiesce(b.s.Dev)
		}
		ahead.close()
	}()
	t := &sharedLeaves{c: &c, columns: 1 << c.LogDomain(), machines: b.streams(owners), ahead: ahead}
	t.digests = make([]kernels.Ptr, len(owners))
	for _, owner := range owners {
		t.of = append(t.of, slices.IndexFunc(t.machines, func(s *run.Stream) bool { return s.Context == owner }))
	}
	come := transferTo(ctx, &c, t.machines, t.of, transferBytes)
	made := false
	defer func() { come.end(!made) }()
	for _, x := range t.machines {
		t.scopes = append(t.scopes, device.NewScope(x.Dev))
	}
	defer func() {
		if len(t.machines) > 1 { // before scopes are closed: each queue may read memory of other machines. Errors are known already.
			for _, x := range t.machines {
				_ = quiesce(x.Dev)
			}
		}
		for _, s := range t.scopes {
			s.Close()
		}
	}()
	return whir.NewTree(c.Layout, open.NewNodes(b.s, c.Hash, c.LogDomain(), c.Keep, func(leaves kernels.Ptr) {
		if len(t.machines) == 1 {
			open.HashLeaves(ctx, b.s, t.scopes[0], come.all[0], &c, ahead.of(b.s).leaves, leaves)
			made = true
			return
		}
		together(ctx, t.machines, func(ctx context.Context, i int) { t.hash(ctx, come.all[i], i) })
		made = true
		t.absorb(ctx, leaves)
		come.end(false)
		come.check()
	})), nil
}

// sharedLeaves is the work of several machines on the leaves of a commitment. First each machine
// makes the digests of its groups, for all columns (hash). Then each makes the leaves of a range
// of columns from the digests of all groups, and the leader collects them (absorb).
type sharedLeaves struct {
	c        *backend.Commitment
	columns  int
	of       []int           // by group: its machine, as an index of machines
	machines []*run.Stream   // the leader's first
	scopes   []*device.Scope // by machine: its memory for this commitment
	digests  []kernels.Ptr   // by group, on its machine
	ahead    *aheadTree      // digests that were made while the run went on, nil if there are none
}

// hash makes the digests of a machine's groups, except those that were made ahead.
func (t *sharedLeaves) hash(ctx context.Context, come *arrivals, machine int) {
	a, there := t.scopes[machine], t.ahead.of(t.machines[machine]).digests
	groups := slices.DeleteFunc(groupsOf(t.of, machine), func(i int) bool {
		t.digests[i] = there[i]
		return t.digests[i] != 0
	})
	if len(groups) == 0 {
		return
	}
	h := open.NewGroupHasher(t.machines[machine], a, come, t.c, groups)
	for len(groups) > 0 {
		k := h.Next(groups)
		i := groups[k]
		t.digests[i] = device.NewArray[hash.Digest](a, t.columns)
		h.Digests(ctx, t.digests[i], i)
		groups = slices.Delete(groups, k, k+1)
	}
	h.Stream.LeaveSegments()
}

// absorb makes the leaves, on each machine those of a range of columns, for which it copies digests from the others; then the leader
// copies the leaves. Each queue waits for the queue that it reads from (behind), and digests stay until commit has waited for all.
func (t *sharedLeaves) absorb(ctx context.Context, leaves kernels.Ptr) {
	share := func(machine int) (from, n int) {
		from = t.columns * machine / len(t.machines)
		return from, t.columns*(machine+1)/len(t.machines) - from
	}
	parts := make([]kernels.Ptr, len(t.machines)) // by machine: its part of the leaves
	together(ctx, t.machines, func(_ context.Context, i int) {
		b, a := t.machines[i], t.scopes[i]
		from, n := share(i)
		if parts[i] = leaves; i > 0 {
			parts[i] = device.NewArray[hash.Digest](a, n)
		}
		for k, other := range t.machines {
			if k != i {
				behind(b.Dev, other)
			}
		}
		l, room := open.NewLeafHasher(a, t.c, parts[i], from, n), device.NewArray[hash.Digest](a, n)
		for group, owner := range t.of {
			digests := kernels.At[hash.Digest](t.digests[group], from)
			if owner != i {
				bring(b.Dev, room, t.machines[owner], digests, n*kernels.SizeDigest)
				digests = room
			}
			l.Absorb(digests)
		}
	})
	for i, x := range t.machines[1:] {
		from, n := share(i + 1)
		behind(t.machines[0].Dev, x)
		bring(t.machines[0].Dev, kernels.At[hash.Digest](leaves, from), x, parts[i+1], n*kernels.SizeDigest)
	}
}

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

// Commit implements backend.Backend. The machines of a team share the groups of rows; the
// share of one that fails is done again by the others.
func (b *Leader) Commit(ctx context.Context, c backend.Commitment) (*whir.Tree, error) {
	for {
		tree, err := b.commit(ctx, c, b.dealGroups(&c))
		var failed *device.Error
		if ctx.Err() != nil || !errors.As(err, &failed) || !b.drop(failed) {
			return tree, err
		}
	}
}

// commit is Commit with the groups dealt to machines.
func (b *Leader) commit(ctx context.Context, c backend.Commitment, owners []*device.Context) (_ *whir.Tree, err error) {
	defer device.Catch(&err)
	ahead := b.running().take(&c)
	defer func() {
		if ahead != nil { // whose memory this queue may still work with, if the commitment has failed
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
		if len(t.machines) > 1 { // nothing reads what another one has any more; what failed has been told
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

// sharedLeaves are the leaves of a commitment that several machines make: first each the digests of
// its groups, then each, of some of the columns, the leaves from the digests of all groups.
type sharedLeaves struct {
	c        *backend.Commitment
	columns  int
	of       []int           // machines, by group
	machines []*run.Stream   // that of the tree first
	scopes   []*device.Scope // of their memory
	digests  []kernels.Ptr
	ahead    *aheadTree // what has been hashed before
}

// hash makes the digests of a machine's groups, as far as they are not there.
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

// absorb makes the leaves, some columns on each machine.
func (t *sharedLeaves) absorb(ctx context.Context, leaves kernels.Ptr) {
	share := func(machine int) (from, n int) {
		from = t.columns * machine / len(t.machines)
		return from, t.columns*(machine+1)/len(t.machines) - from
	}
	parts := make([]kernels.Ptr, len(t.machines)) // of the leaves
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

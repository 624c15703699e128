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

// commit is Commit with the groups dealt to machines: 0 is that of b, i that of
// b.team.Others[i-1].
func (b *Leader) commit(ctx context.Context, c backend.Commitment, owners []int) (_ *whir.Tree, err error) {
	defer device.Catch(&err)
	ahead := b.ahead(&c)
	defer func() {
		if ahead != nil { // whose memory this queue may still work with, if the commitment has failed
			_ = quiesce(b.s.Dev)
		}
		ahead.close()
	}()
	a := device.NewScope(b.s.Dev)
	defer a.Close()
	used := map[int]bool{}
	for _, owner := range owners {
		used[owner] = true
	}
	others, numbers := b.streams(used)
	machines, of := append([]*run.Stream{b.s}, others...), make([]int, len(owners)) // by group
	for i, owner := range owners {
		of[i] = slices.Index(numbers, owner) + 1
	}
	come := transferTo(ctx, &c, machines, of, transferBytes)
	made := false
	defer func() { come.end(!made) }()
	shares := make([]*device.Scope, len(others)) // of their memory
	for i, other := range others {
		shares[i] = device.NewScope(other.Dev)
	}
	defer func() {
		if len(shares) > 0 { // nothing reads what another one has any more; what failed has been told
			for _, x := range machines {
				_ = quiesce(x.Dev)
			}
		}
		for _, s := range shares {
			s.Close()
		}
	}()
	columns := 1 << c.LogDomain()
	return whir.NewTree(c.Layout, open.NewNodes(b.s, c.Hash, c.LogDomain(), c.Keep, func(leaves kernels.Ptr) {
		if len(others) == 0 {
			open.HashLeaves(ctx, b.s, a, come.all[0], &c, ahead.begun(b.s), leaves)
			made = true
			return
		}
		t := &sharedLeaves{c: &c, columns: columns, of: of, machines: machines, scopes: append([]*device.Scope{a}, shares...), digests: make([]kernels.Ptr, len(owners)), ahead: ahead}
		together(ctx, func() { t.hash(ctx, come.all[0], 0) }, others, func(ctx context.Context, i int) { t.hash(ctx, come.all[i+1], i+1) })
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
	a, groups := t.scopes[machine], groupsOf(t.of, machine)
	there := t.ahead.of(t.machines[machine])
	groups = slices.DeleteFunc(groups, func(i int) bool {
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

// absorb makes the leaves.
func (t *sharedLeaves) absorb(ctx context.Context, leaves kernels.Ptr) {
	own, others := t.machines[0], t.machines[1:]
	from := func(machine int) int { return t.columns * machine / len(t.machines) }
	parts := make([]kernels.Ptr, len(t.machines)) // of the leaves
	parts[0] = leaves
	some := func(machine int) { t.absorbSome(machine, parts[machine], from(machine), from(machine+1)) }
	together(ctx, func() { some(0) }, others, func(_ context.Context, i int) {
		parts[i+1] = device.NewArray[hash.Digest](t.scopes[i+1], from(i+2)-from(i+1))
		some(i + 1)
	})
	for i, other := range others {
		behind(own.Dev, other)
		bring(own.Dev, kernels.At[hash.Digest](leaves, from(i+1)), other, parts[i+1], (from(i+2)-from(i+1))*kernels.SizeDigest)
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
			behind(b.Dev, other)
		}
	}
	l := open.NewLeafHasher(a, t.c, leaves, from, to-from)
	room := device.NewArray[hash.Digest](a, to-from)
	for i, owner := range t.of {
		digests := kernels.At[hash.Digest](t.digests[i], from)
		if owner != machine {
			bring(b.Dev, room, t.machines[owner], digests, (to-from)*kernels.SizeDigest)
			digests = room
		}
		l.Absorb(digests)
	}
}

// groupsOf lists the groups of an owner.
func groupsOf(owners []int, owner int) []int {
	var own []int
	for i, x := range owners {
		if x == owner {
			own = append(own, i)
		}
	}
	return own
}

package cuda

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/poseidon2"
)

// Team are machines beside the one that commits. They take groups of the rows that are
// committed to, from the tensors that they have or bring, and what goes to the one that
// commits are a digest for each column and group. What is committed to does not depend on
// them.
type Team struct {
	Others []*Machine
	// Least is the number of values of a commitment from which on it is shared.
	Least int
	// Lost, if set, is told of a machine that is not used any more.
	Lost func(*MachineError)
}

// BackendWith is Backend with a team, none if nil.
func (m *Machine) BackendWith(t *Team, g *model.Graph, w backend.Witness) *Backend {
	b := m.Backend(g, w)
	if t != nil {
		b.team = *t
		b.team.Others = slices.Clone(t.Others)
		b.values.peers = b.team.Others
	}
	return b
}

// mate returns the backend of another machine, which lives as long as b.
func (b *Backend) mate(m *Machine) *Backend {
	x, ok := b.mates[m]
	if !ok {
		x = m.Backend(b.g, b.w)
		x.values.peers = append([]*Machine{b.m}, b.team.Others...)
		if b.mates == nil {
			b.mates = map[*Machine]*Backend{}
		}
		b.mates[m] = x
	}
	return x
}

// drop goes on without another machine, and reports whether it was of the team.
func (b *Backend) drop(failed *MachineError) bool {
	i := slices.Index(b.team.Others, failed.Machine)
	if i < 0 {
		return false
	}
	b.team.Others = slices.Delete(slices.Clone(b.team.Others), i, i+1)
	if !errors.Is(failed, kernels.ErrMemory) && b.team.Lost != nil {
		b.team.Lost(failed)
	}
	return true
}

// dealGroups deals the groups of a commitment to machines, 0 for that of b, i for
// b.team.Others[i-1]: those of values that a run has left to the machine that has them,
// others in equal parts.
func (b *Backend) dealGroups(c *backend.Commitment) []int {
	homes := make([]int, len(c.Groups))
	if n := c.Rows() << c.RowVars; len(homes) == 1 || len(b.team.Others) == 0 || n < b.team.Least {
		return homes
	}
	before := 0
	for i, g := range c.Groups {
		first := &b.g.Tensors[c.Parts[i].Stack.Blocks[0].Tensor]
		if first.Kind == model.Witness && b.run != nil {
			at := b.run.homes[min(first.Chunk, len(b.run.homes)-1)]
			homes[i] = slices.Index(b.team.Others, at) + 1
		} else {
			homes[i] = (2*before + g.Rows) * (len(b.team.Others) + 1) / (2 * c.Rows())
		}
		before += g.Rows
	}
	return homes
}

// share is the part of another machine in a commitment.
type share struct {
	b       *Backend
	a       *scope
	digests map[int]kernels.Ptr // by group
	done    chan struct{}
	failed  any  // what the goroutine ended with
	behind  bool // the queue of the one who commits comes after its own
}

// share has other machines make the digests of their groups. They are there until end is
// called, after which nothing is at work any more.
func (b *Backend) share(ctx context.Context, c *backend.Commitment, homes []int) (shares map[int]*share, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	shares = map[int]*share{}
	for i, m := range b.team.Others {
		var groups []int
		for g, home := range homes {
			if home == i+1 {
				groups = append(groups, g)
			}
		}
		if len(groups) == 0 {
			continue
		}
		mate := b.mate(m)
		s := &share{b: mate, a: newScope(mate.dev), digests: map[int]kernels.Ptr{}, done: make(chan struct{})}
		shares[i+1] = s
		all.Add(1)
		go func() {
			defer all.Done()
			defer close(s.done)
			defer func() { s.failed = recover() }()
			h := mate.newGroupHasher(s.a, c, groups)
			for _, g := range groups {
				s.digests[g] = newArray[poseidon2.Digest](s.a, 1<<c.LogDomain())
				h.digests(ctx, s.digests[g], g)
			}
		}()
	}
	return shares, func() {
		cancel()
		all.Wait()
		if len(shares) > 0 {
			_ = b.dev.Sync() // nothing reads there any more; what failed has been told
		}
		for _, s := range shares {
			s.a.close()
		}
	}
}

// bring copies the digests of a group to memory of dev, once they are on their way.
func (s *share) bring(dev kernels.Device, dst kernels.Ptr, group, columns int) {
	<-s.done
	switch p := s.failed.(type) {
	case nil:
	case failure:
		check(&MachineError{s.b.m, p.err})
	default:
		panic(p)
	}
	var err error
	if !s.behind {
		err = kernels.After(dev, s.b.dev)
		s.behind = true
	}
	if err == nil {
		err = kernels.CopyFrom(dev, dst, s.b.dev, s.digests[group], columns*kernels.SizeDigest)
	}
	if errors.As(err, new(*kernels.SourceError)) {
		err = &MachineError{s.b.m, err}
	}
	check(err)
}

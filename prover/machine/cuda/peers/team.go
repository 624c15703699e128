// Package peers shares commitments and openings between devices. One, the leader, has the tree and the tables of an
// opening; the others do a part of the work for as long as they do not fail, and the results do not depend on them.
package peers

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// Group are machines beside the one that commits and opens. They take groups of the rows that
// are committed to, from the tensors that they have or bring; what goes to the one that
// commits are a digest for each column and group, and to the one that opens tables of what
// their rows add up to. Commitments and openings do not depend on them.
type Group struct {
	Others []*device.Context
	// Least is the number of values of a commitment from which on it is shared.
	Least int
	// Lost, if set, is told of a machine that is not used any more.
	Lost func(*device.Error)
}

// A Leader is the machine that commits and opens. It shares that with its team.
type Leader struct {
	s        *run.Stream
	group    Group
	others   []*run.Stream // of the team
	prepared *prepared     // nil unless an opening has begun
}

// NewLeader returns the leader of a team, none if nil, through a stream that stays the caller's.
func NewLeader(s *run.Stream, t *Group) *Leader {
	l := &Leader{s: s}
	if t != nil {
		l.group = *t
	}
	for _, m := range l.group.Others {
		l.others = append(l.others, run.NewStream(m, s.Graph, s.Witness, l.machines()...))
	}
	return l
}

// Close gives back what the leader has made.
func (b *Leader) Close() {
	b.unprepare()
	for _, x := range b.others {
		x.Close()
	}
}

// streams returns those of the machines that own something, the leader's first.
func (b *Leader) streams(owners []*device.Context) []*run.Stream {
	all := []*run.Stream{b.s}
	for _, x := range b.others {
		if slices.Contains(owners, x.Context) {
			all = append(all, x)
		}
	}
	return all
}

// machines are all of the team, the leader's first.
func (b *Leader) machines() []*device.Context {
	return append([]*device.Context{b.s.Context}, b.group.Others...)
}

// drop goes on without another machine, and reports whether it was of the team.
func (b *Leader) drop(failed *device.Error) bool {
	i := slices.Index(b.group.Others, failed.On)
	if i < 0 {
		return false
	}
	b.group.Others = slices.Delete(slices.Clone(b.group.Others), i, i+1)
	b.s.Forget(failed.On)
	for _, x := range b.others {
		x.Forget(failed.On)
	}
	if !errors.Is(failed, kernels.ErrMemory) && b.group.Lost != nil {
		b.group.Lost(failed)
	}
	return true
}

// dealGroups deals the groups of a commitment to machines: those of values that a run has left to the machine
// that has them, others in turn. So in an opening the rows at one place of long rows are mostly one
// machine's (open.DotTable), which alone makes the tables of claims on them.
func (b *Leader) dealGroups(c *backend.Commitment) []*device.Context {
	all := b.machines()
	owners := slices.Repeat(all[:1], len(c.Groups))
	if n := c.Rows() << c.RowVars; len(owners) == 1 || n < b.group.Least {
		return owners
	}
	for i := range c.Groups {
		owners[i] = all[i%len(all)]
		if at := homeOf(b.s.Run, b.s.Graph, c, i); at != nil {
			owners[i] = all[max(0, slices.Index(all, at))]
		}
	}
	return owners
}

// together runs f for each machine, the first of which is here, and returns when all are done. The context of the
// others ends if the first one gives up. If another one does it gives up as well, with a device.Error.
func together(ctx context.Context, machines []*run.Stream, f func(ctx context.Context, i int)) {
	others, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make([]any, len(machines))
	pass := func(ctx context.Context, i int) {
		defer func() { failed[i] = recover() }()
		f(ctx, i)
	}
	var all sync.WaitGroup
	for i := 1; i < len(machines); i++ {
		all.Go(func() { pass(others, i) })
	}
	if pass(ctx, 0); failed[0] != nil {
		cancel()
	}
	all.Wait()
	if failed[0] != nil {
		panic(failed[0])
	}
	for i, p := range failed {
		err := device.Recovered(p)
		if err != nil && !errors.As(err, new(*device.Error)) { // else it has read from another one, which has failed
			err = &device.Error{On: machines[i].Context, Err: err}
		}
		device.Check(err)
	}
}

// quiesce waits until a stream has done what it was told, so that memory that it reads on other machines may be freed, and
// returns the error of that. The first wait may end at once with an error of earlier work, while copies that were enqueued
// are still to come: then it waits once more. A device on which that fails too is lost, and does nothing any more.
func quiesce(d kernels.Device) error {
	err := d.Sync()
	if err != nil {
		_ = d.Sync()
	}
	return err
}

// behind makes dev's queue wait for the work that is enqueued on another machine now.
func behind(dev kernels.Device, other *run.Stream) { checkSource(other, kernels.After(dev, other.Dev)) }

// bring copies memory of another machine to dev, whose queue already waits for that machine (behind).
func bring(dev kernels.Device, dst kernels.Ptr, other *run.Stream, src kernels.Ptr, bytes int) {
	checkSource(other, kernels.CopyFrom(dev, dst, other.Dev, src, bytes))
}

// checkSource is check, with a device.Error for an error of the other machine.
func checkSource(other *run.Stream, err error) {
	if errors.As(err, new(*kernels.SourceError)) {
		err = &device.Error{On: other.Context, Err: err}
	}
	device.Check(err)
}

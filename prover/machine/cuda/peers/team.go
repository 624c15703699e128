// Package peers shares commitments and openings between the devices (machines) of a team. One of them, the leader, has the tree of a
// commitment and the tables of an opening. The others do a part of the work. The bytes of a proof do not depend on who did what.
//
// If another machine than the leader fails, the leader drops it and does the pass again without it. An error of the leader itself ends
// the pass. A machine's queue may read memory of another machine; such memory is freed only after the queue that reads it has been
// waited for (quiesce).
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

// A Group is the machines of a team beside the leader. Each hashes some of the groups of rows that are committed to, and does the
// passes of an opening over these rows, from tensors that it has or loads. In a commitment it sends the leader digests, one for each
// column and group, and in an opening tables: the sums over its rows.
type Group struct {
	Others []*device.Context
	// Least is the fewest values of a commitment that is shared. Smaller ones the leader makes alone.
	Least int
	// Lost, if set, is called with the error of a machine that is dropped, unless memory was short there.
	Lost func(*device.Error)
}

// A Leader is the machine that commits and opens, and shares this work with its team. It is for one goroutine at a time.
type Leader struct {
	s        *run.Stream   // of the leader, owned by the caller
	group    Group         // without machines that have been dropped
	others   []*run.Stream // one for each machine of the group as it was given
	prepared *prepared     // an opening that was begun ahead (Prepare); nil if there is none
}

// NewLeader returns the leader of a team t, which works through stream s. The caller keeps s and closes it. A nil t means no team.
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

// Close closes a prepared opening and the streams of the other machines.
func (b *Leader) Close() {
	b.unprepare()
	for _, x := range b.others {
		x.Close()
	}
}

// streams returns the leader's stream, and after it those of the other machines among owners.
func (b *Leader) streams(owners []*device.Context) []*run.Stream {
	all := []*run.Stream{b.s}
	for _, x := range b.others {
		if slices.Contains(owners, x.Context) {
			all = append(all, x)
		}
	}
	return all
}

// machines returns all machines of the team that have not been dropped, the leader first.
func (b *Leader) machines() []*device.Context {
	return append([]*device.Context{b.s.Context}, b.group.Others...)
}

// drop removes a machine that has failed from the team, so that the work goes on without it. It returns false if the machine is not among
// the others, as the leader is not: then the work cannot go on.
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

// dealGroups returns the machine that takes each group of a commitment. A group of values of a run goes to the machine on which the
// run has left them. Other groups are dealt in turn: so in an opening the rows at one place of long rows are mostly on one
// machine (open.DotTable), which alone makes the tables of claims on them. The leader takes all of a small commitment (Group.Least).
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

// together calls f for all machines concurrently, machine 0, the leader, in this goroutine, and returns when all calls have ended. If
// the leader's call gives up, the context of the others ends, and together gives up with the leader's failure. If another call gives up,
// together gives up with a device.Error that names the machine at fault: the one of the call, or the one that it has read from. It waits
// for all calls in any case, so that the caller may free memory that they work on.
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
		if err != nil && !errors.As(err, new(*device.Error)) { // a device.Error already names another machine, which it read from
			err = &device.Error{On: machines[i].Context, Err: err}
		}
		device.Check(err)
	}
}

// quiesce waits until a stream has done all that is enqueued, so that memory which it reads on other machines may be freed, and returns
// the stream's error. A first Sync may return early with an error of earlier work, while copies are still to run: then quiesce
// waits once more. If the second Sync fails too, the device is lost and runs nothing any more.
func quiesce(d kernels.Device) error {
	err := d.Sync()
	if err != nil {
		_ = d.Sync()
	}
	return err
}

// behind makes dev's queue wait for the work that is in the other machine's queue at the time of the call. The host does not wait.
func behind(dev kernels.Device, other *run.Stream) { checkSource(other, kernels.After(dev, other.Dev)) }

// bring enqueues on dev a copy of another machine's memory. dev's queue must come after what writes that memory (behind), and the
// memory must stay until dev's queue has been waited for.
func bring(dev kernels.Device, dst kernels.Ptr, other *run.Stream, src kernels.Ptr, bytes int) {
	checkSource(other, kernels.CopyFrom(dev, dst, other.Dev, src, bytes))
}

// checkSource is device.Check, with a device.Error if the error is the other machine's.
func checkSource(other *run.Stream, err error) {
	if errors.As(err, new(*kernels.SourceError)) {
		err = &device.Error{On: other.Context, Err: err}
	}
	device.Check(err)
}

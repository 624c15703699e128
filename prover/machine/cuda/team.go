package cuda

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// Team are machines beside the one that commits and opens. They take groups of the rows that
// are committed to, from the tensors that they have or bring; what goes to the one that
// commits are a digest for each column and group, and to the one that opens tables of what
// their rows add up to. Commitments and openings do not depend on them.
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

// mates returns backends of those others that are homes, which live as long as b, and their
// numbers as homes.
func (b *Backend) mates(used map[int]bool) (all []*Backend, numbers []int) {
	for i, m := range b.team.Others {
		if !used[i+1] {
			continue
		}
		x, ok := b.others[m]
		if !ok {
			x = m.Backend(b.g, b.w)
			x.values.peers = append([]*Machine{b.m}, b.team.Others...)
			if b.others == nil {
				b.others = map[*Machine]*Backend{}
			}
			b.others[m] = x
		}
		all, numbers = append(all, x), append(numbers, i+1)
	}
	return all, numbers
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
// others in turn. So in an opening the rows at one place of long rows are mostly one
// machine's (rowSums), which alone makes the tables of claims on them.
func (b *Backend) dealGroups(c *backend.Commitment) []int {
	homes := make([]int, len(c.Groups))
	if n := c.Rows() << c.RowVars; len(homes) == 1 || len(b.team.Others) == 0 || n < b.team.Least {
		return homes
	}
	for i := range c.Groups {
		first := &b.g.Tensors[c.Parts[i].Stack.Blocks[0].Tensor]
		if first.Kind == model.Witness && b.run != nil {
			at := b.run.homes[min(first.Chunk, len(b.run.homes)-1)]
			homes[i] = slices.Index(b.team.Others, at) + 1
		} else {
			homes[i] = i % (len(b.team.Others) + 1)
		}
	}
	return homes
}

// together runs own here and others beside it, each with the backend of another machine, and
// returns when all are done. The context of the others ends if own gives up. If one of
// them does it gives up as well, with a MachineError.
func together(ctx context.Context, own func(), others []*Backend, other func(ctx context.Context, i int)) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make([]any, len(others))
	var all sync.WaitGroup
	for i := range others {
		all.Go(func() {
			defer func() { failed[i] = recover() }()
			other(ctx, i)
		})
	}
	func() {
		done := false
		defer func() {
			if !done {
				cancel()
			}
			all.Wait()
		}()
		own()
		done = true
	}()
	for i, p := range failed {
		switch p := p.(type) {
		case nil:
		case failure:
			if !errors.As(p.err, new(*MachineError)) { // else it has read from another one, which has failed
				p.err = &MachineError{others[i].m, p.err}
			}
			check(p.err)
		default:
			panic(p)
		}
	}
}

// behind has what is enqueued on dev from now on done after what another machine has been
// told to do.
func behind(dev kernels.Device, other *Backend) { checkSource(other, kernels.After(dev, other.dev)) }

// bring copies what another machine has, behind whose queue dev's is, to memory of dev.
func bring(dev kernels.Device, dst kernels.Ptr, other *Backend, src kernels.Ptr, bytes int) {
	checkSource(other, kernels.CopyFrom(dev, dst, other.dev, src, bytes))
}

// checkSource is check, with a MachineError for an error of the other machine.
func checkSource(other *Backend, err error) {
	if errors.As(err, new(*kernels.SourceError)) {
		err = &MachineError{other.m, err}
	}
	check(err)
}

package cuda

import (
	"context"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// A Machine is a device that forward passes and proofs run on, with the fixed tensors that stay on it
// from proof to proof, and estimates of what proofs take of its memory. It is safe for concurrent use.
type Machine struct {
	*Context
	needs   needs
	sharing int // machines that share commitments and openings
}

// NewMachine returns a machine without tensors on dev.
func NewMachine(dev kernels.Device) *Machine {
	return &Machine{Context: NewContext(dev), sharing: 1}
}

// SetSharing says how many machines share commitments and openings, this one included (Team),
// which is part of what is estimated (Need).
func (m *Machine) SetSharing(n int) { m.sharing = n }

// Run implements forward.Machine on this machine alone.
func (m *Machine) Run(ctx context.Context, g *model.Graph, weights model.Weights, inputs [][]int32) (forward.Kept, error) {
	return (&Forward{Homes: []*Context{m.Context}}).Run(ctx, g, weights, inputs)
}

// Backend runs on a device. It is for one goroutine at a time; others use lanes of it.
// What this package does not do is done by the CPU.
type Backend struct {
	*Passes
	*Leader
	stream *Stream
}

var (
	_ backend.Laned    = (*Backend)(nil)
	_ backend.Measured = (*Backend)(nil)
	_ backend.Preparer = (*Backend)(nil)
	_ backend.Sender   = (*Backend)(nil)
	_ forward.Machine  = (*Machine)(nil)
)

// Backend returns a backend for one witness of g.
func (m *Machine) Backend(g *model.Graph, w backend.Witness) *Backend {
	return m.BackendWith(nil, g, w)
}

// BackendWith is Backend with a team, none if nil.
func (m *Machine) BackendWith(t *Team, g *model.Graph, w backend.Witness) *Backend {
	var peers []*Context
	if t != nil {
		peers = t.Others
	}
	return newBackend(NewStream(m.Context, g, w, peers...), t)
}

func newBackend(s *Stream, t *Team) *Backend {
	return &Backend{NewPasses(s), NewLeader(s, t), s}
}

// Lane implements backend.Laned. Lane 0 uses the queue of b. The lanes that a machine
// uses must have been set (SetLanes).
func (b *Backend) Lane(n int) (backend.Backend, error) {
	s, err := b.stream.Lane(n)
	if err != nil {
		return nil, err
	}
	return newBackend(s, nil), nil
}

// Peak implements backend.Measured: beside weights and values, which are the machine's
// and all lanes'.
func (b *Backend) Peak() int64 { return b.stream.dev.Peak() }

// Close implements backend.Backend.
func (b *Backend) Close() {
	b.Leader.Close()
	b.stream.Close()
}

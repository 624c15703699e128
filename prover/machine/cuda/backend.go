package cuda

import (
	"context"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/peers"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
	"github.com/prove-model/prove-model/prover/machine/cuda/sums"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// A Machine is a device that forward passes and proofs run on, with the fixed tensors that stay on it
// from proof to proof, and estimates of what proofs take of its memory. It is safe for concurrent use.
type Machine struct {
	*device.Context
	// Threshold is a number of entries: a step of a proof over fewer is the processor's. Estimates depend on it.
	Threshold int
	Sharing   int // machines that share commitments and openings, this one included: estimates depend on it
	needs     needs
}

// NewMachine returns a machine without tensors on dev.
func NewMachine(dev kernels.Device) *Machine {
	return &Machine{Context: device.New(dev), Sharing: 1}
}

// Run implements forward.Machine on this machine alone.
func (m *Machine) Run(ctx context.Context, g *model.Graph, weights model.Weights, inputs [][]int32) (forward.Kept, error) {
	return (&run.Forward{Contexts: []*device.Context{m.Context}}).Run(ctx, g, weights, inputs)
}

// Backend runs on a device. It is for one goroutine at a time; others use its workers, each on a stream of its own.
// What this package does not do is done by the CPU.
type Backend struct {
	*sums.Passes
	*peers.Leader
	stream *run.Stream
}

var (
	_ backend.Parallel = (*Backend)(nil)
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
func (m *Machine) BackendWith(t *peers.Group, g *model.Graph, w backend.Witness) *Backend {
	var peers []*device.Context
	if t != nil {
		peers = t.Others
	}
	return newBackend(run.NewStream(m.Context, g, w, peers...), t)
}

func newBackend(s *run.Stream, t *peers.Group) *Backend {
	return &Backend{sums.NewPasses(s), peers.NewLeader(s, t), s}
}

// Worker implements backend.Parallel. Worker 0 uses the queue of b. The machine must have as many
// (Context.Streams).
func (b *Backend) Worker(n int) (backend.Backend, error) {
	b.Committed() // sub-transcripts follow on the roots
	s, err := b.stream.Stream(n)
	if err != nil {
		return nil, err
	}
	return newBackend(s, nil), nil
}

// Peak implements backend.Measured: beside weights and values, which are the machine's
// and all workers'.
func (b *Backend) Peak() int64 { return b.stream.Dev.Peak() }

// Close implements backend.Backend.
func (b *Backend) Close() {
	b.Leader.Close()
	b.stream.Close()
}

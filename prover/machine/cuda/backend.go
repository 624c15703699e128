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

// A Machine is a device that runs forward passes and proofs, with the fixed tensors that stay on it
// from proof to proof, and estimates of the memory that proofs take there. It is safe for concurrent use.
type Machine struct {
	*device.Context
	// Threshold is a number of entries: the processor does the steps of a proof over fewer. Only estimates use it here.
	Threshold int
	Sharing   int // how many machines share commitments and openings, this one included; estimates and Settle use it
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

// Backend implements backend.Backend on a device, for one witness. It is for one goroutine at a time; other goroutines use
// its workers, each on a stream of its own. What has no kernels runs on the CPU.
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

// BackendWith is Backend with a team that shares commitments and openings; a nil t means no team.
func (m *Machine) BackendWith(t *peers.Group, g *model.Graph, w backend.Witness) *Backend {
	var peers []*device.Context
	if t != nil {
		peers = t.Others
	}
	return newBackend(run.NewStream(m.Context, g, w, peers...), t)
}

// newBackend returns a backend that works through stream s, which Backend.Close closes.
func newBackend(s *run.Stream, t *peers.Group) *Backend {
	return &Backend{sums.NewPasses(s), peers.NewLeader(s, t), s}
}

// Worker implements backend.Parallel. Worker n uses queue n of the device; queue 0 is that of b. n must be below
// Context.Streams. The workers must be closed before b.
func (b *Backend) Worker(n int) (backend.Backend, error) {
	b.Committed() // workers prove sub-transcripts, which come after all commitments
	s, err := b.stream.Stream(n)
	if err != nil {
		return nil, err
	}
	return newBackend(s, nil), nil
}

// Peak implements backend.Measured: the most bytes of the stream at once. Weights and values, which belong to the machine
// and to all workers together, are not counted.
func (b *Backend) Peak() int64 { return b.stream.Dev.Peak() }

// Close implements backend.Backend.
func (b *Backend) Close() {
	b.Leader.Close()
	b.stream.Close()
}

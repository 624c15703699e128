package run

import (
	"context"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// A Watcher works on what a run has computed while the run goes on.
type Watcher interface {
	// Reached is called, by the goroutine that enqueues the run, when all that the run computes in a chunk is enqueued on the
	// queue of the chunk's device, the counts of its look-ups included. What is enqueued behind that reads the chunk's values.
	Reached(ctx context.Context, r *Run, chunk int)
	// Close is called before the values are given back. Nothing that was enqueued may read them then.
	Close()
}

// Watcher returns what was told of the run, nil if nothing was.
func (r *Run) Watcher() Watcher { return r.watcher }

// Drops says whether a run does not keep all values of a commitment.
func (r *Run) Drops(c *backend.Commitment) bool {
	for i := range c.Groups {
		if r.parts[0].recomputing(c, i) >= 0 {
			return true
		}
	}
	return false
}

// Stream returns a queue of a machine, of that number, through which values of a run are found while it goes on.
func (r *Run) Stream(m *device.Context, queue int) (*Stream, error) {
	dev, err := kernels.StreamOf(m.Dev, queue)
	if err != nil {
		return nil, err
	}
	return r.stream(m, dev), nil
}

// stream returns a stream that finds values of a run, and nothing else.
func (r *Run) stream(m *device.Context, dev kernels.Device) *Stream {
	return newStream(&shared{Context: m, Graph: r.g, Run: r}, dev)
}

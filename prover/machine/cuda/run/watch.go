package run

import (
	"context"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
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

// reached tells of the chunks that n operations have completed.
func (r *Run) reached(ctx context.Context, n int) {
	if r.watcher == nil {
		return
	}
	for _, chunk := range r.completed[n] {
		r.watcher.Reached(ctx, r, chunk)
	}
}

// unwatch closes what watches the run.
func (r *Run) unwatch() {
	if r.watcher != nil {
		r.watcher.Close()
	}
}

// On returns a tensor that a run computes on a machine, nil if it is not there: one that is not kept is only there until all that the run
// computes in its segment has been told of.
func (r *Run) On(m *device.Context, id model.TensorID) *device.Tensor {
	p := r.part(m)
	if p == nil {
		return nil
	}
	x, ok := p.tensors[id]
	if !ok {
		return nil
	}
	return r.tensorAt(p, &x, r.of(p).again)
}

// Drops says whether a run does not keep all values of a commitment.
func (r *Run) Drops(c *backend.Commitment) bool {
	for i := range c.Groups {
		if r.segments != nil && r.parts[0].recomputing(c, i) >= 0 {
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
	s := newStream(m, r.g, nil, dev, &tensorSet{tensors: map[model.TensorID]*value{}}, true)
	s.Run = r
	return s, nil
}

// completion says after how many operations each chunk is complete, while a program is made.
type completion struct {
	last map[int]int // by chunk; none where nothing is computed
	open []int       // chunks of steps that are in the schedule
}

// add notes a step of a chunk.
func (c *completion) add(chunk int) {
	if n := len(c.open); n == 0 || c.open[n-1] != chunk {
		c.open = append(c.open, chunk)
	}
}

// flushed notes that the steps so far are the first n operations.
func (c *completion) flushed(n int) {
	if c.last == nil {
		c.last = map[int]int{}
	}
	for _, chunk := range c.open {
		c.last[chunk] = n
	}
	c.open = c.open[:0]
}

// byCount returns which of so many chunks are complete after each number of operations, in order.
func (c *completion) byCount(chunks int) map[int][]int {
	m := map[int][]int{}
	for chunk := range chunks {
		m[c.last[chunk]] = append(m[c.last[chunk]], chunk)
	}
	return m
}

package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// Rows runs a row circuit on a device for one row after the other. Weights are those that stay there, caches stay from row to row, and
// after the first row all launches of a row are one, where the device can record them. It is for one goroutine at a time.
type Rows struct {
	circuit *forward.RowCircuit
	run     *Run
	on      *part
	memory  *memory // its queue is the rows' own

	launched bool              // a row has been
	made     kernels.Recording // nil: none
	closed   bool
}

// errRoom is the reason why a row circuit is not for a device that has too little memory.
var errRoom = fmt.Errorf("the weights do not fit on the device: %w", kernels.ErrMemory)

// ErrRange is what a row fails with of which a number leaves its range. It says nothing of the step: forward.Rows does.
var ErrRange = errors.New("cuda: a number of a row is out of its range")

// ErrClosed is what Rows fail with that are closed, or whose weights have been given back.
var ErrClosed = errors.New("cuda: the weights are not on the device any more")

// rowTerms is the least number of multiplications of a product of a row with a matrix that is worth a launch.
const rowTerms = 1 << 14

// NewRows prepares a row circuit on a device. begun has the values of the inputs of the circuit from the one after c.Rows on: of those that
// do not change, and of the caches. An error is a device.Error, or says why the circuit is not for the device.
func NewRows(m *device.Context, rc *forward.RowCircuit, begun [][]int32) (*Rows, error) {
	c := newCompiler(rc.Graph, rc.Weights, []*device.Context{m}, 0)
	c.row = &mantissas{}
	p, err := c.make(func() {
		c.sums *= 4 // products beside each other
		for _, id := range c.g.Inputs[:len(rc.Rows)] {
			c.source(c.parts[0], id)
		}
		c.keep(c.parts[0], rc, -1)
		for i := range c.g.Steps {
			c.step(i)
			c.keep(c.parts[0], rc, i)
		}
	})
	if err != nil {
		return nil, err
	}
	r := &Rows{circuit: rc, on: p.parts[0], run: newRun(p)}
	r.memory = r.run.memory[r.on]
	err = r.use(func(*kernels.Bases) {
		var first [][]int32
		for _, id := range rc.Graph.Inputs[:len(rc.Rows)] {
			first = append(first, make([]int32, r.on.tensors[id].n))
		}
		device.Check(r.run.begin(r.on, slices.Concat(first, begun)))
		c.row.make(m, r.memory)
		device.Check(m.Dev.Sync()) // other queues know nothing of what this one has yet to do
		r.memory.dev = device.Get(m.Dev.Stream(max(1, m.Streams)))
	})
	if err != nil {
		r.Close()
		return nil, err
	}
	m.Keep(r)
	return r, nil
}

// keep adds the launches that put a step's rows in their caches.
func (c *compiler) keep(p *part, rc *forward.RowCircuit, step int) {
	for _, x := range rc.Caches {
		if x.Step != step {
			continue
		}
		schedule := c.on(p)
		whole, row, at := c.source(p, x.Whole), c.source(p, x.Row), c.source(p, x.At)
		shape := c.g.Tensors[x.Whole].Shape
		before, rows, after := model.Size(shape[:x.Axis]), shape[x.Axis], model.Size(shape[x.Axis+1:])
		schedule.single(func(w *work) error {
			return kernels.PutRow(w.dev, w.at(whole), w.at(row), w.at(at), before, rows, after)
		}, row.At, whole.At)
	}
}

// Set computes a row, of which values has what c.Rows lists.
func (r *Rows) Set(ctx context.Context, values [][]int32) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return r.use(func(bases *kernels.Bases) {
		for i, id := range r.circuit.Graph.Inputs[:len(r.circuit.Rows)] {
			s := r.on.tensors[id]
			device.Check(device.UploadAs(r.memory.dev, s.tensor(bases).Ptr, ints.Int32s(values[i]), s.Width))
		}
		if r.made != nil {
			device.Check(r.made.Launch())
			return
		}
		device.Check(r.launch())
		if on, ok := kernels.Base(r.memory.dev).(kernels.Recorder); ok && !r.launched {
			if made, err := on.Record(r.launch); err == nil { // else they stay many
				r.made = made
			}
		}
		r.launched = true
	})
}

// launch enqueues the launches of a row.
func (r *Rows) launch() error {
	for _, op := range r.run.ops {
		if err := op.do(r.run); err != nil {
			return err
		}
	}
	return nil
}

// use calls f while nobody else uses the rows, if they have not been closed, and returns the error of the device with which it gives up.
func (r *Rows) use(f func(bases *kernels.Bases)) (err error) {
	m := r.on.m
	m.Rows.Lock()
	defer m.Rows.Unlock()
	if r.closed || r.on.age != m.Generation() {
		return ErrClosed
	}
	defer func() {
		if err != nil {
			err = &device.Error{On: m, Err: err}
		}
	}()
	defer device.Catch(&err)
	f(r.run.bases(r.on))
	return nil
}

// Output returns the new row of output i. The error wraps ErrRange if a number has left its range in this row or one before.
func (r *Rows) Output(i int) ([]int32, error) {
	s := r.on.tensors[r.circuit.Graph.Outputs[i]]
	data, bad := make([]byte, s.n*s.Width), make([]byte, 4)
	err := r.use(func(bases *kernels.Bases) {
		device.Check(r.memory.dev.Download(data, s.tensor(bases).Ptr))
		device.Check(r.memory.dev.Download(bad, bases.Small))
	})
	if err == nil && bad[0] != 0 {
		err = ErrRange
	}
	if err != nil {
		return nil, err
	}
	return ints.All(ints.FromBytes(data, s.Width)), nil
}

// Close gives the memory back. It may be called again.
func (r *Rows) Close() {
	m := r.on.m
	m.Rows.Lock()
	defer m.Rows.Unlock()
	if r.closed {
		return
	}
	r.closed = true
	_ = r.memory.dev.Sync() // what failed has been reported
	if r.made != nil {
		_ = r.made.Close()
	}
	r.memory.Close()
	r.run.program.free()
	m.Drop(r)
}

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

// Rows runs a row circuit on a device for one row after the other. It reads the weights that stay on the device, and keeps caches from
// row to row. After the first row all launches of a row are one, if the device can record them. Rows has a queue of its own, which
// Context.Rows protects. It is for one goroutine at a time.
type Rows struct {
	circuit *forward.RowCircuit
	run     *Run
	on      *part
	memory  *memory // its dev is the queue of rows

	launched bool              // a row has been run, launch by launch
	made     kernels.Recording // of the launches of a row; nil if there is none
	closed   bool
}

// errRoom is the error of a row circuit whose weights do not fit on the device.
var errRoom = fmt.Errorf("the weights do not fit on the device: %w", kernels.ErrMemory)

// ErrRange is the error of a row in which a number leaves its range. It does not name the step; forward.Rows does.
var ErrRange = errors.New("cuda: a number of a row is out of its range")

// ErrClosed is the error of Rows that are closed, or whose weights have been freed.
var ErrClosed = errors.New("cuda: the weights are not on the device any more")

// rowTerms is the fewest multiplications of a product of a row with a matrix that are worth a launch.
const rowTerms = 1 << 14

// NewRows prepares a row circuit on a device. begun has the first values of those inputs of the circuit that come after rc.Rows: of inputs
// that do not change, and of caches. An error is a device.Error, or says why the circuit is not for the device.
func NewRows(m *device.Context, rc *forward.RowCircuit, begun [][]int32) (*Rows, error) {
	c := newCompiler(rc.Graph, rc.Weights, []*device.Context{m}, 0)
	c.row = &mantissas{}
	p, err := c.make(func() {
		c.sums *= 4 // room for the accumulators of several steps at once
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
		device.Check(m.Dev.Sync()) // the queue of rows, which follows, does not wait for this one
		r.memory.dev = device.Get(m.Dev.Stream(max(1, m.Streams)))
	})
	if err != nil {
		r.Close()
		return nil, err
	}
	m.Keep(r)
	return r, nil
}

// keep adds the launches that copy the row which a step has computed into its caches. Step −1 stands for rows that are inputs.
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

// Set enqueues the computation of a row. values are the inputs that rc.Rows lists. Output waits for it.
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
			if made, err := on.Record(r.launch); err == nil { // after an error the launches stay single ones
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

// use calls f with the lock of the queue of rows held, unless the rows are closed or their weights freed (ErrClosed). It returns the error
// with which f gives up, as a device.Error.
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

// Output waits for the row and returns its part of output i. The error wraps ErrRange if a number has left its range in this row or an
// earlier one.
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

// Close waits for the queue and frees the memory. It may be called several times.
func (r *Rows) Close() {
	m := r.on.m
	m.Rows.Lock()
	defer m.Rows.Unlock()
	if r.closed {
		return
	}
	r.closed = true
	_ = r.memory.dev.Sync() // an error has been reported by the operation that failed
	if r.made != nil {
		_ = r.made.Close()
	}
	r.memory.Close()
	r.run.program.free()
	m.Drop(r)
}

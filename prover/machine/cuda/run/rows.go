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
	dev     kernels.Device // a queue of its own
	rows    int            // that have been run
	made    kernels.Recording
	closed  bool

	mantissas *mantissas
}

// errRoom is the reason why a row circuit is not for a device that has too little memory.
var errRoom = fmt.Errorf("the weights do not fit on the device: %w", kernels.ErrMemory)

// ErrRange is what a row fails with of which a number leaves its range. It says nothing of the step: forward.Rows does.
var ErrRange = errors.New("cuda: a number of a row is out of its range")

// ErrClosed is what Rows fail with that are closed, or whose weights have been given back.
var ErrClosed = errors.New("cuda: the weights are not on the device any more")

// rowTerms is the least number of multiplications of a product of a row with a matrix that is worth a launch.
const rowTerms = 1 << 14

// vectorByLaunch says whether a product of a row is a launch of its own: if it is one of a vector with a fixed matrix that lies so that
// the launch needs no memory besides.
func vectorByLaunch(g *model.Graph, q *model.Product, l *model.Contraction, out []int) bool {
	k, n := dims(l.Sum), dims(l.FreeA)*dims(l.FreeB)
	if n < 2 || k <= FewTerms || n*k < rowTerms {
		return false
	}
	mm, _, b := operands(g, q, out, func([]int32) kernels.Ptr { return 1 })
	return g.Tensors[b].Kind == model.Fixed && mm.Vector()
}

// NewRows prepares a row circuit on a device. begun has the values of the inputs of the circuit from the one after c.Rows on: of those that
// do not change, and of the caches. An error is a device.Error, or says why the circuit is not for the device.
func NewRows(m *device.Context, rc *forward.RowCircuit, begun [][]int32) (*Rows, error) {
	c := newCompiler(rc.Graph, rc.Weights, []*device.Context{m}, 0)
	c.row = &mantissas{of: map[model.TensorID]*mantissa{}}
	p, err := c.compileRow(rc)
	if err != nil {
		return nil, err
	}
	r := &Rows{circuit: rc, on: p.parts[0], mantissas: c.row, run: newRun(p)}
	if err := r.begin(begun); err != nil {
		r.Close()
		return nil, &device.Error{On: m, Err: err}
	}
	m.Keep(r)
	return r, nil
}

// begin puts in what all rows begin with.
func (r *Rows) begin(begun [][]int32) (err error) {
	defer device.Catch(&err)
	var first [][]int32
	for _, id := range r.circuit.Graph.Inputs[:len(r.circuit.Rows)] {
		first = append(first, make([]int32, r.on.tensors[id].n))
	}
	m := r.on.m
	device.Check(r.run.begin(r.on, slices.Concat(first, begun)))
	r.mantissas.make(m, r.run.memory[r.on])
	device.Check(m.Dev.Sync()) // other queues know nothing of what this one has yet to do
	r.dev = device.Get(m.Dev.Stream(max(1, m.Streams)))
	r.run.memory[r.on].queue = r.dev
	return nil
}

// compileRow makes the program of a row circuit.
func (c *compiler) compileRow(rc *forward.RowCircuit) (*program, error) {
	return c.make(func() {
		c.sums *= 4 // products beside each other
		p := c.parts[0]
		for _, id := range c.g.Inputs[:len(rc.Rows)] {
			c.source(p, id)
		}
		c.keep(p, rc, -1)
		for i := range c.g.Steps {
			c.step(i)
			c.keep(p, rc, i)
		}
	})
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
	m := r.on.m
	m.Rows.Lock()
	defer m.Rows.Unlock()
	if r.closed || r.on.age != m.Generation() {
		return ErrClosed
	}
	err := r.upload(values)
	switch {
	case err != nil:
	case r.made != nil:
		err = r.made.Launch()
	default:
		err = r.launch()
	}
	if err == nil && r.rows == 0 {
		r.record() // all that it launches has been launched
	}
	r.rows++
	if err != nil {
		return &device.Error{On: m, Err: err}
	}
	return nil
}

// upload puts a row's inputs in.
func (r *Rows) upload(values [][]int32) error {
	for i, id := range r.circuit.Graph.Inputs[:len(r.circuit.Rows)] {
		s := r.on.tensors[id]
		if err := device.UploadAs(r.dev, s.tensor(r.run.bases(r.on)).Ptr, ints.Int32s(values[i]), s.Width); err != nil {
			return err
		}
	}
	return nil
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

// record makes one of the launches, where that is possible.
func (r *Rows) record() {
	if on, ok := kernels.Base(r.dev).(kernels.Recorder); ok {
		if made, err := on.Record(r.launch); err == nil { // else they stay many
			r.made = made
		}
	}
}

// Output returns the new row of output i. The error wraps ErrRange if a number has left its range in this row or one before.
func (r *Rows) Output(i int) ([]int32, error) {
	m := r.on.m
	m.Rows.Lock()
	defer m.Rows.Unlock()
	if r.closed {
		return nil, ErrClosed
	}
	s := r.on.tensors[r.circuit.Graph.Outputs[i]]
	data, bad := make([]byte, s.n*s.Width), make([]byte, 4)
	bases := r.run.bases(r.on)
	err := r.dev.Download(data, s.tensor(bases).Ptr)
	if err == nil {
		err = r.dev.Download(bad, bases.Small)
	}
	switch {
	case err != nil:
		return nil, &device.Error{On: m, Err: err}
	case bad[0] != 0:
		return nil, ErrRange
	}
	return ints.All(ints.FromBytes(data, s.Width)), nil
}

// Launches returns how many launches a row is, when it is not one.
func (r *Rows) Launches() int { return len(r.run.ops) }

// Close gives the memory back. It may be called again.
func (r *Rows) Close() {
	m := r.on.m
	m.Rows.Lock()
	defer m.Rows.Unlock()
	if r.closed {
		return
	}
	r.closed = true
	if r.dev != nil {
		_ = r.dev.Sync() // what failed has been reported
	}
	if r.made != nil {
		_ = r.made.Close()
	}
	r.run.memory[r.on].Close()
	r.run.program.free()
	m.Drop(r)
}

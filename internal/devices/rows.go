package devices

import (
	"context"
	"errors"

	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
)

// Rows computes rows of a text one after the other on a GPU (run.Rows).
type Rows struct {
	set  *Set
	gpu  *gpu
	rows *run.Rows
	warn Log
}

// ErrProcessor is the error of Rows, after a warning, if the processor has to compute the rows, all of them from the
// beginning.
var ErrProcessor = errors.New("rows are the processor's")

// Rows prepares a row circuit on the first GPU that works. begun has the initial values of the circuit's last inputs, its caches. If
// no GPU can do it, Rows warns and returns ErrProcessor; if GPUs are required it returns the reason.
func (d *Set) Rows(c *forward.RowCircuit, begun [][]int32, warn Log) (*Rows, error) {
	r := &Rows{set: d, gpu: d.first(), warn: warn}
	if r.gpu == nil {
		return nil, ErrProcessor
	}
	var err error
	if r.rows, err = run.NewRows(r.gpu.machine.Context, c, begun); err != nil {
		return nil, r.failed(err)
	}
	return r, nil
}

// failed handles an error: it warns and returns ErrProcessor, or returns the error if the context has ended or GPUs are
// required.
func (r *Rows) failed(err error) error {
	var on *device.Error
	switch {
	case errors.Is(err, run.ErrRange):
		return ErrProcessor // the processor's run reports where a value is out of range
	case r.set.required || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case OutOfMemory(err):
		if r.set.once(r.gpu.name + ": rows") {
			r.warn("writing was short of memory on the GPU: %v; it is done on the CPU", err)
		}
	case errors.As(err, &on):
		r.set.fail(r.gpu, r.warn, err)
	default:
		r.warn("the GPU cannot write with this model: %v; the CPU does", err)
	}
	return ErrProcessor
}

// Next computes a row and returns its first output. values has an element for each entry of the circuit's list of
// inputs, forward.RowCircuit.Rows.
func (r *Rows) Next(ctx context.Context, values [][]int32) ([]int32, error) {
	err := r.rows.Set(ctx, values)
	if err == nil {
		var row []int32
		if row, err = r.rows.Output(0); err == nil {
			return row, nil
		}
	}
	return nil, r.failed(err)
}

// Close frees the memory on the GPU.
func (r *Rows) Close() { r.rows.Close() }

// Prompt returns the machine that runs the forward pass over a prompt: the first GPU that works, if that pays.
func (d *Set) Prompt(warn Log) forward.Machine { return &forwards{Set: d, warn: warn} }

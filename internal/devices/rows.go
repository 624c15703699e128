package devices

import (
	"context"
	"errors"

	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
)

// Rows computes one row after the other on a GPU (run.Rows).
type Rows struct {
	set  *Set
	gpu  *gpu
	rows *run.Rows
	warn Log
}

// ErrProcessor is what Rows fail with after a warning: the processor has to compute the rows from the beginning.
var ErrProcessor = errors.New("rows are the processor's")

// Rows prepares a row circuit on the first GPU that works, with values that the inputs behind those of each row begin with. Where that
// cannot be, there is a warning and the error is ErrProcessor, or the reason if GPUs are required.
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

// failed says what follows from an error.
func (r *Rows) failed(err error) error {
	var on *device.Error
	switch {
	case errors.Is(err, run.ErrRange):
		return ErrProcessor // which says where
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

// Next computes a row, of which values has what the circuit's Rows list, and returns the first output's.
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

// Close gives the memory back.
func (r *Rows) Close() { r.rows.Close() }

// Prompt returns what runs the forward pass over a prompt: the first GPU, if that is worth it.
func (d *Set) Prompt(warn Log) forward.Machine { return &forwards{Set: d, warn: warn} }

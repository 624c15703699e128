package provemodel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/prove-model/prove-model/internal/devices"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/prover/prover"
)

// Device is where work is done: on GPUs as far as that goes and on the CPU for
// the rest, or on the CPU alone, as the zero Device does. The results are the
// same. Proofs that are made on one Device at the same time share it.
type Device struct {
	once sync.Once
	gpus *devices.Set // nil before it is used: the processor
}

// set returns what the device consists of.
func (d *Device) set() *devices.Set {
	d.once.Do(func() {
		if d.gpus == nil {
			d.gpus = &devices.Set{}
		}
	})
	return d.gpus
}

// GPU says whether there is a GPU that has not failed yet.
func (d *Device) GPU() bool { return d.set().GPU() }

// Stats returns what GPUs and the processor did for the proofs made so far, GPUs first; nothing if no proof was begun.
func (d *Device) Stats() []devices.Stats { return d.set().Stats() }

// Close gives back the memory on the GPUs.
func (d *Device) Close() { d.set().Close() }

// provers is how many proofs are made at once.
func (d *Device) provers() int {
	if d.GPU() {
		return 2
	}
	return 1
}

// orProcessor returns a device that options name, the processor for nil.
func orProcessor(d *Device) *Device {
	if d == nil {
		return &Device{}
	}
	return d
}

// checkShare refuses options that are no share.
func checkShare(memory int64, workers int) error {
	switch {
	case memory < 0:
		return fmt.Errorf("MemoryBudget is %d: want bytes, or 0 for no bound", memory)
	case workers < 0:
		return fmt.Errorf("option Workers is %d: want 1 or more, or 0 for 1", workers)
	}
	return nil
}

// GPUOptions say which GPUs are opened, and what of them is used. The zero value, as nil, is the first one.
type GPUOptions struct {
	Observer Observer // is told how the work goes, unless nil
	// Devices are the numbers of the GPUs to open, as the driver counts them from 0 on; nil is the first. All opens all that can
	// be used. Chunks are proved on several beside each other.
	Devices []int
	All     bool
	// Required makes a GPU that cannot be had, or that fails on the way, an error rather than a warning.
	Required bool
	// Threshold is the least size, in entries of the tables concerned, of a step that goes to the GPU; 0 is what pays, 1 is every
	// step.
	Threshold int
	// Streams is how many chunks are proved at once on a GPU, as far as its memory allows; 0 is 8.
	Streams int
	// MemoryBudget is the memory in bytes that a proof may take on each GPU beside the weights: it decides what is kept and what is
	// recomputed (docs/gpu.md, "Memory"); 0 is no bound.
	MemoryBudget int64
	// CheckMemory proves chunks one after the other and holds the memory that each takes against its estimate: Prove fails if that
	// is more than 1 MB short, or 5 MB too much.
	CheckMemory bool
}

func (o *GPUOptions) validate() error {
	switch {
	case o.All && o.Devices != nil:
		return errors.New("option All opens all GPUs, and Devices names some")
	case o.Threshold < 0:
		return fmt.Errorf("option Threshold is %d: want entries, or 0 for what pays", o.Threshold)
	case o.Streams < 0:
		return fmt.Errorf("option Streams is %d: want 1 or more, or 0 for %d", o.Streams, defaultStreams)
	case o.MemoryBudget < 0:
		return fmt.Errorf("MemoryBudget is %d: want bytes, or 0 for no bound", o.MemoryBudget)
	}
	for i, n := range o.Devices {
		if n < 0 || slices.Contains(o.Devices[:i], n) {
			return fmt.Errorf("option Devices are %v: want the numbers of GPUs, from 0 on, each once", o.Devices)
		}
	}
	return nil
}

const defaultStreams = 8

// OpenGPU opens the first GPU, or those that the options name, and loads their
// kernels. A GPU that cannot be used is left out with a warning. Where there is none, or
// no support for one in this build, the observer is warned and the device is the
// CPU; if it is required that is an error. The caller closes the device. It is for
// one call at a time. opts may be nil.
func OpenGPU(ctx context.Context, opts *GPUOptions) (*Device, error) {
	return openGPU(ctx, orDefault(opts), func(o *GPUOptions) ([]devices.Found, error) { return devices.Find(o.Devices, o.All) })
}

func openGPU(ctx context.Context, o *GPUOptions, find func(*GPUOptions) ([]devices.Found, error)) (_ *Device, err error) {
	defer must.Catch(&err)
	must.OK(o.validate())
	w := newWatch(o.Observer)
	defer w.stop()
	gpus, err := find(o)
	set, err := devices.Open(ctx, gpus, err, devices.Options{
		Required: o.Required, CheckMemory: o.CheckMemory, Threshold: o.Threshold, Streams: cmp.Or(o.Streams, defaultStreams), MemoryBudget: o.MemoryBudget,
	}, func(ctx context.Context, f func() error) error { return w.run(ctx, phaseLoad, f) }, w.warn)
	must.OK(err)
	return &Device{gpus: set}, nil
}

// prover are the options of package prover on the device, whose progress w is told of.
func (d *Device) prover(s devices.Share, w *watch) prover.Options {
	o := d.set().Prover(s, w.warn)
	o.Progress = w.follow()
	return o
}

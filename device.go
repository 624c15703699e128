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

// Device is where work is done. A Device with GPUs does on them what they can do, and
// the rest on the processor; the zero Device is the processor alone. The results are
// the same bytes. Proofs that are made on one Device at the same time share it.
type Device struct {
	once sync.Once
	gpus *devices.Set // nil before the first use of a zero Device
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

// Stats returns what the GPUs and the processor did for the proofs made so far, GPUs first. It returns nothing if no
// proof was begun.
func (d *Device) Stats() []devices.Stats { return d.set().Stats() }

// Close gives back the memory on the GPUs.
func (d *Device) Close() { d.set().Close() }

// provers returns how many proofs ProveEach makes at once.
func (d *Device) provers() int {
	if d.GPU() {
		return 2
	}
	return 1
}

// orProcessor returns the device that options name; if that is nil, the processor.
func orProcessor(d *Device) *Device {
	if d == nil {
		return &Device{}
	}
	return d
}

// checkShare refuses a negative memory budget or number of workers.
func checkShare(memory int64, workers int) error {
	switch {
	case memory < 0:
		return fmt.Errorf("MemoryBudget is %d: want bytes, or 0 for no bound", memory)
	case workers < 0:
		return fmt.Errorf("option Workers is %d: want 1 or more, or 0 for 1", workers)
	}
	return nil
}

// GPUOptions say which GPUs are opened, and how they are used. The zero value and nil stand for the first GPU.
type GPUOptions struct {
	Observer Observer // is told how the work goes, unless nil
	// Devices are the numbers of the GPUs to open, as the driver counts them from 0 on; nil is the first one. All opens every
	// GPU that can be used. With several GPUs, each proves other chunks at the same time.
	Devices []int
	All     bool
	// Required turns the warning about a GPU that cannot be opened, or that fails during the work, into an error.
	Required bool
	// Threshold is the least size of a step that goes to the GPU, in entries of its tables. 0 leaves the choice to the package,
	// and 1 sends every step.
	Threshold int
	// Streams is the most chunks that are proved at once on one GPU; there are fewer if its memory does not suffice. 0 is
	// 8.
	Streams int
	// MemoryBudget is the memory in bytes that a proof may take on each GPU beside the weights. A smaller budget makes the GPU
	// recompute values that it would otherwise keep (docs/gpu.md, "Memory"); 0 is no bound.
	MemoryBudget int64
	// CheckMemory proves chunks one after the other and compares the memory that each takes with its estimate. Prove fails if the
	// estimate is more than 1 MB too low or 5 MB too high.
	CheckMemory bool
}

// validate refuses options that contradict each other or are out of range.
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

// OpenGPU opens the first GPU, or those that the options name, and loads their kernels.
// A GPU that cannot be used is left out with a warning. If there is no usable GPU, or
// this build has no support for GPUs, the observer is warned and the device is the
// processor; with Required that is an error. The caller closes the device. OpenGPU is
// not for concurrent use. opts may be nil.
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

// prover returns the options that package prover takes for work on the device. w is told of the progress.
func (d *Device) prover(s devices.Share, w *watch) prover.Options {
	o := d.set().Prover(s, w.warn)
	o.Progress = w.follow()
	return o
}

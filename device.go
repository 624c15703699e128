package provemodel

import (
	"context"
	"fmt"
	"sync"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/backend/cpu"
	"github.com/prove-model/prove-model/prover/backend/cuda"
	"github.com/prove-model/prove-model/prover/forward"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/plan"
)

// Device is where work is done: on a GPU as far as that goes and on the CPU for
// the rest, or on the CPU alone, as the zero Device does. The results are the
// same.
type Device struct {
	gpu      *cuda.Machine // nil: the CPU alone
	required bool
	// Bytes of the GPU's memory that were free, and of a piece of what goes
	// through in pieces; 0 if it does not tell.
	free, piece int
	// Least sizes of a step of a proof, and of the forward pass, that go to it.
	threshold, forward int

	mu    sync.Mutex
	lost  bool
	noted bool // that the memory is not enough
}

// OpenGPU opens the first GPU and loads its kernels. Where there is none, or no
// support for one in this build, the observer is warned and the device is the
// CPU; with Require that is an error. The caller closes the device. It is for
// one call at a time.
func OpenGPU(ctx context.Context, opts ...Option) (*Device, error) {
	return openGPU(ctx, apply(opts), kernels.Cached)
}

func openGPU(ctx context.Context, o *options, open func() (kernels.Device, error)) (*Device, error) {
	w := o.watch()
	defer w.stop()
	dev, err := open()
	if err == nil {
		err = load(ctx, dev, w)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		if o.require {
			return nil, fmt.Errorf("no GPU: %w", err)
		}
		w.warn("no GPU: %v; proving on the CPU", err)
		return &Device{}, nil
	}
	d := &Device{gpu: cuda.NewMachine(dev), required: o.require, threshold: backend.DefaultThreshold, forward: forward.DefaultThreshold}
	var ok bool
	if d.free, ok = available(dev); ok {
		d.piece = min(d.free, int(o.budget)) / 8
		d.gpu.Limit(d.free/2, d.piece)
	}
	if o.threshold >= 0 {
		d.threshold, d.forward = o.threshold, o.threshold
	}
	return d, nil
}

// available returns the free bytes of a device that can tell.
func available(dev kernels.Device) (free int, ok bool) {
	e, ok := dev.(interface {
		Available() (free, total int64, err error)
	})
	if !ok {
		return 0, false
	}
	n, _, err := e.Available()
	return int(n), err == nil
}

// load compiles the kernels, or takes them from their cache, so that the phases
// that follow do not wait for that, and what is wrong with the compiler shows
// at once.
func load(ctx context.Context, dev kernels.Device, w *watch) error {
	l, ok := dev.(interface {
		Load(ctx context.Context, groups ...string) error
	})
	if !ok {
		return nil
	}
	return w.run(ctx, PhaseLoad, func() error { return l.Load(ctx) })
}

// reserve keeps the room free that proofs of a graph need beside its weights:
// weights for which too little is left go through in pieces.
func (d *Device) reserve(p *plan.Plan, w *watch) {
	if !d.GPU() || d.free == 0 {
		return
	}
	need := d.gpu.Need(p)
	if need.Peak() > int64(d.free) && d.once(&d.noted) {
		w.warn("this takes about %.2f GB of the GPU's memory, and %.2f GB are free: not all of it will be done there",
			float64(need.Peak())/1e9, float64(d.free)/1e9)
	}
	d.gpu.Limit(max(1, d.free-int(need.Working())), d.piece)
}

// once says whether a flag was not set yet, and sets it.
func (d *Device) once(flag *bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	first := !*flag
	*flag = true
	return first
}

// GPU says whether there is a GPU, and it has not failed yet.
func (d *Device) GPU() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.gpu != nil && !d.lost
}

// fail gives the GPU up, and says so once.
func (d *Device) fail(w *watch, err error) {
	if d.once(&d.lost) {
		w.warn("the GPU failed: %v; going on on the CPU", err)
	}
}

// policy is that of a device whose failure w is warned of.
func (d *Device) policy(w *watch) backend.Policy {
	p := backend.Policy{Threshold: d.threshold}
	if !d.required {
		p.Warn = func(err error) { d.fail(w, err) }
	}
	return p
}

// backend makes the backends of proofs (prover.Options).
func (d *Device) backend(w *watch) func(*model.Graph, backend.Witness) backend.Backend {
	return func(g *model.Graph, wit backend.Witness) backend.Backend {
		c := cpu.New(g, wit)
		if !d.GPU() {
			return c
		}
		return backend.NewFallback(g, d.gpu.Backend(g, wit), c, d.policy(w))
	}
}

// machine is the device for forward passes.
func (d *Device) machine(w *watch) forward.Machine { return &lookUps{d, w} }

type lookUps struct {
	*Device
	w *watch
}

// LookUp implements forward.Machine.
func (l *lookUps) LookUp(t *forward.Task) (done bool, err error) {
	if !l.GPU() || t.Size() < l.forward {
		return false, nil
	}
	done, err = l.gpu.LookUp(t)
	if err != nil && !l.required {
		l.fail(l.w, err)
		return false, nil
	}
	return done, err
}

// Close gives back the memory on the GPU.
func (d *Device) Close() {
	if d.gpu != nil {
		d.gpu.Close()
	}
}

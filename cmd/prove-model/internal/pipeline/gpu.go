package pipeline

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/prove-model/prove-model/cmd/prove-model/internal/ui"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/nvrtc"
	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/backend/cpu"
	"github.com/prove-model/prove-model/prover/backend/cuda"
	"github.com/prove-model/prove-model/prover/forward"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/plan"
)

// Device is where a command computes: on a GPU as far as that goes and on the
// CPU for the rest, or on the CPU alone. The results are the same.
type Device struct {
	machine *cuda.Machine // nil: the CPU alone
	policy  backend.Policy
	// Bytes of the GPU's memory that were free, and of a piece of what goes
	// through in pieces; 0 if it does not tell.
	free, piece int
	noted       bool // that they are not enough
	forward     int  // least size of a step of the forward pass that goes to the GPU

	mu   sync.Mutex
	lost bool
}

// OpenDevice opens what the settings ask for. A GPU that is wished for and
// cannot be had is warned about, or an error if it is required.
func OpenDevice(ctx context.Context, cfg *config.Config, ph *ui.Phases) (*Device, error) {
	if cfg.GPU == config.GPUOff && !cfg.MultiGPU {
		return &Device{}, nil
	}
	if cfg.CacheDir != "" {
		nvrtc.SetCacheDir(filepath.Join(cfg.CacheDir, "cubin"))
	}
	return openDevice(ctx, cfg, ph, kernels.Cached)
}

func openDevice(ctx context.Context, cfg *config.Config, ph *ui.Phases, open func() (kernels.Device, error)) (*Device, error) {
	dev, err := open()
	if err == nil {
		err = load(ctx, dev, ph)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		if cfg.GPU == config.GPURequire {
			return nil, WithHint(fmt.Errorf("--gpu=require: %w", err), "--gpu alone, or no flag, proves on the CPU")
		}
		ph.Printf("warning: no GPU: %v; proving on the CPU", err)
		return &Device{}, nil
	}
	if cfg.MultiGPU {
		ph.Printf("warning: one GPU is used: this version does not spread a proof over several")
	}
	d := &Device{machine: cuda.NewMachine(dev), policy: backend.Policy{Threshold: backend.DefaultThreshold}, forward: forward.DefaultThreshold}
	var ok bool
	if d.free, ok = available(dev); ok {
		d.piece = min(d.free, int(cfg.ChunkBudgetGB*(1<<30))) / 8
		d.machine.Limit(d.free/2, d.piece)
	}
	if cfg.GPUThreshold >= 0 {
		d.policy.Threshold, d.forward = cfg.GPUThreshold, cfg.GPUThreshold
	}
	if cfg.GPU != config.GPURequire {
		d.policy.Warn = func(err error) { d.warn(err, ph) }
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

// reserve keeps the room free that proofs of a graph need beside its weights:
// weights for which too little is left go through in pieces.
func (d *Device) reserve(p *plan.Plan, ph *ui.Phases) {
	if !d.usable() || d.free == 0 {
		return
	}
	need := d.machine.Need(p)
	if need.Peak() > int64(d.free) && !d.noted {
		d.noted = true
		ph.Printf("note: this takes about %s of the GPU's memory, and %s are free: not all of it will be done there",
			ui.Bytes(need.Peak()), ui.Bytes(int64(d.free)))
	}
	d.machine.Limit(max(1, d.free-int(need.Working())), d.piece)
}

// load compiles the kernels, or takes them from the cache, so that the phases
// that follow do not wait for that, and what is wrong with the compiler shows
// at once.
func load(ctx context.Context, dev kernels.Device, ph *ui.Phases) error {
	l, ok := dev.(interface {
		Load(ctx context.Context, groups ...string) error
	})
	if !ok {
		return nil
	}
	return ph.Run(ctx, "load kernels", func(func(done, total int)) error { return l.Load(ctx) })
}

// warn says once that the GPU is given up.
func (d *Device) warn(err error, ph *ui.Phases) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.lost {
		d.lost = true
		ph.Printf("warning: the GPU failed: %v; going on on the CPU", err)
	}
}

// usable says whether there is a GPU that has not failed yet.
func (d *Device) usable() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.machine != nil && !d.lost
}

// Backend makes the backend of a proof (prover.Options).
func (d *Device) Backend(g *model.Graph, w backend.Witness) backend.Backend {
	c := cpu.New(g, w)
	if !d.usable() {
		return c
	}
	return backend.NewFallback(g, d.machine.Backend(g, w), c, d.policy)
}

// LookUp implements forward.Machine.
func (d *Device) LookUp(t *forward.Task) (done bool, err error) {
	if !d.usable() || t.Size() < d.forward {
		return false, nil
	}
	done, err = d.machine.LookUp(t)
	if err != nil && d.policy.Warn != nil {
		d.policy.Warn(err)
		return false, nil
	}
	return done, err
}

// Close gives back the memory on the GPU.
func (d *Device) Close() {
	if d.machine != nil {
		d.machine.Close()
	}
}

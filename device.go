package provemodel

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/nvrtc"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda"
	"github.com/prove-model/prove-model/prover/machine/schedule"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/prover"
)

// Device is where work is done: on GPUs as far as that goes and on the CPU for
// the rest, or on the CPU alone, as the zero Device does. The results are the
// same. Proofs that are made on one Device at the same time share it.
type Device struct {
	gpus     []*gpu // none: the CPU alone
	required bool
	track    bool
	// threshold is the least size of a step of a proof that goes to a GPU; forward, of a
	// tensor that a step of the forward pass computes or multiplies, with which all of it
	// goes there, −1 for where it is worth it.
	threshold, forward int

	mu       sync.Mutex
	schedule *schedule.Scheduler // of the GPUs, then the CPU; nil until wanted
	noted    map[string]bool     // what has been warned of
}

// gpu is one of a Device.
type gpu struct {
	name    string
	number  int // among those of the Device
	machine *cuda.Machine
	// Bytes of the GPU's memory that were free, and of a piece of what goes
	// through in pieces; 0 if it does not tell.
	free, piece int
	lanes       int
	budget      int64 // of a proof beside the weights, in bytes; 0 for none

	mu   sync.Mutex
	lost bool
}

// OpenGPU opens the first GPU, or those that the options name, and loads their
// kernels. A GPU that cannot be used is left out with a warning. Where there is none, or
// no support for one in this build, the observer is warned and the device is the
// CPU; with Require that is an error. The caller closes the device. It is for
// one call at a time.
func OpenGPU(ctx context.Context, opts ...Option) (*Device, error) {
	return openGPU(ctx, apply(opts), findGPUs)
}

// found is a GPU to open.
type found struct {
	name string
	open func() (kernels.Device, error)
}

// findGPUs lists the GPUs that the options ask for.
func findGPUs(o *options) ([]found, error) {
	all, err := nvrtc.Devices()
	if err != nil || len(all) == 0 {
		return nil, err
	}
	numbers := o.devices
	switch {
	case numbers == nil && !o.all:
		numbers = []int{0}
	case numbers == nil:
		for i := range all {
			numbers = append(numbers, i)
		}
	}
	gpus := make([]found, len(numbers))
	for i, n := range numbers {
		gpus[i] = found{fmt.Sprintf("GPU %d", n), func() (kernels.Device, error) { return kernels.CachedFor(n) }}
	}
	return gpus, nil
}

func openGPU(ctx context.Context, o *options, find func(*options) ([]found, error)) (*Device, error) {
	w := o.watch()
	defer w.stop()
	d := &Device{required: o.require, track: o.track, threshold: backend.DefaultThreshold, forward: -1}
	if o.threshold >= 0 {
		d.threshold, d.forward = o.threshold, o.threshold
	}
	defer func() {
		for _, g := range d.gpus {
			g.machine.SetSharing(len(d.gpus))
		}
	}()
	gpus, err := find(o)
	var errs []error
	for _, f := range gpus {
		g, err := d.open(ctx, f, o, w)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.name, err))
			continue
		}
		g.number = len(d.gpus)
		d.gpus = append(d.gpus, g)
	}
	if len(gpus) == 1 && len(errs) == 1 {
		err = errors.Unwrap(errs[0])
	} else if err == nil && len(d.gpus) == 0 {
		if err = errors.Join(errs...); err == nil {
			err = errors.New("the driver knows of none")
		}
	}
	switch {
	case err == nil && len(errs) > 0 && o.require:
		return nil, errors.Join(errs...)
	case err == nil:
		for _, e := range errs {
			w.warn("%v; it is left out", e)
		}
	case o.require:
		return nil, fmt.Errorf("no GPU: %w", err)
	default:
		w.warn("no GPU: %v; proving on the CPU", err)
		return &Device{}, nil
	}
	return d, nil
}

// open opens a GPU.
func (d *Device) open(ctx context.Context, f found, o *options, w *watch) (*gpu, error) {
	dev, err := f.open()
	if err == nil {
		err = load(ctx, dev, w)
	}
	if err != nil {
		return nil, err
	}
	g := &gpu{name: f.name, machine: cuda.NewMachine(dev), lanes: max(1, o.gpuLanes), budget: o.budget}
	if o.track {
		g.lanes = 1
	}
	g.machine.SetLanes(g.lanes)
	var ok bool
	if g.free, ok = available(dev); ok {
		g.piece = min(g.free, int(o.chunks())) / 8
		g.machine.Limit(g.free/2, g.piece)
	}
	return g, nil
}

// FreeMemory returns the bytes of a GPU's memory that are free now, of that number as
// the driver counts. The error says why it cannot be used.
func FreeMemory(gpu int) (int64, error) {
	dev, err := kernels.CachedFor(gpu)
	if err != nil {
		return 0, err
	}
	n, ok := available(dev)
	if !ok {
		return 0, errors.New("it does not tell its memory")
	}
	return int64(n), nil
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
// weights for which too little is left go through in pieces. Of so many proofs values are there
// at a time.
func (d *Device) reserve(p *plan.Plan, runs int, w *watch) {
	g := d.first()
	if g == nil || g.free == 0 {
		return
	}
	need := g.settle(p, runs)
	if need.Peak() > int64(g.free) && d.once("memory") {
		w.warn("this takes about %.2f GB of the GPU's memory, and %.2f GB are free: not all of it will be done there",
			float64(need.Peak())/1e9, float64(g.free)/1e9)
	}
	for _, g := range d.gpus {
		if g.free > 0 {
			g.machine.Limit(max(1, g.free-int(g.settle(p, runs).Working())), g.piece)
		}
	}
}

// settle chooses what a proof keeps on a GPU, by what is free there and by the budget, and
// returns what it needs then.
func (g *gpu) settle(p *plan.Plan, runs int) *cuda.Need {
	return g.machine.Settle(p, int64(g.free), g.budget, runs)
}

// once says whether something is said for the first time.
func (d *Device) once(what string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.noted == nil {
		d.noted = map[string]bool{}
	}
	first := !d.noted[what]
	d.noted[what] = true
	return first
}

// GPU says whether there is a GPU that has not failed yet.
func (d *Device) GPU() bool { return d.first() != nil }

// first returns the first GPU that has not failed yet, nil if there is none.
func (d *Device) first() *gpu {
	for _, g := range d.gpus {
		if g.works() {
			return g
		}
	}
	return nil
}

func (g *gpu) works() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.lost
}

// fail gives a GPU up, and says so once.
func (d *Device) fail(g *gpu, w *watch, err error) {
	g.mu.Lock()
	first := !g.lost
	g.lost = true
	g.mu.Unlock()
	if !first {
		return
	}
	d.mu.Lock()
	s := d.schedule
	d.mu.Unlock()
	if s != nil {
		s.Lose(g.number)
	}
	if d.GPU() {
		w.warn("%s failed: %v; going on on the others", g.name, err)
	} else {
		w.warn("the GPU failed: %v; going on on the CPU", err)
	}
}

// policy is that of a GPU whose failure w is warned of.
func (d *Device) policy(g *gpu, w *watch) backend.Policy {
	p := backend.Policy{Threshold: d.threshold, Passes: isMemory}
	if !d.required {
		p.Warn = func(err error) {
			if !isMemory(err) {
				d.fail(g, w, err)
			} else if d.once(g.name + ": step") {
				w.warn("a step was short of memory on the GPU: %v; it is done on the CPU", err)
			}
		}
	}
	return p
}

func isMemory(err error) bool { return errors.Is(err, kernels.ErrMemory) }

// machine is the device for forward passes over a plan's graph: a step runs where its
// chunk is proved, so that its weights and values are there.
func (d *Device) machine(o *options, p *plan.Plan, w *watch) forward.Machine {
	m := &forwards{d, w, nil}
	if len(d.gpus) > 1 {
		m.homes = d.lanes(o, w).Homes(p)
	}
	return m
}

type forwards struct {
	*Device
	w     *watch
	homes []int // by chunk
}

// Run implements forward.Machine. What a GPU cannot do another one does, or the CPU.
func (f *forwards) Run(ctx context.Context, g *model.Graph, weights model.Weights, inputs [][]int32) (forward.Kept, error) {
	for {
		first := f.first()
		if first == nil || !f.worth(g) {
			return nil, nil
		}
		on := &cuda.Forward{Host: f.threshold, Homes: []*cuda.Machine{first.machine}}
		if len(f.homes) > 0 {
			on.Homes = nil
		}
		for _, home := range f.homes {
			if !f.gpus[home].works() {
				home = first.number
			}
			on.Homes = append(on.Homes, f.gpus[home].machine)
		}
		kept, err := on.Run(ctx, g, weights, inputs)
		var failed *cuda.MachineError
		if err == nil || ctx.Err() != nil || f.required || !errors.As(err, &failed) {
			return kept, err
		}
		for _, x := range f.gpus {
			if x.machine == failed.Machine {
				f.policy(x, f.w).Warn(err)
			}
		}
		if isMemory(err) {
			return nil, nil
		}
	}
}

// kept warns if a GPU has not given back what it computed in a forward pass, or returns
// that error if there must be one.
func (d *Device) kept(wit *forward.Witness, w *watch) error {
	err := wit.Err()
	if err == nil || d.required {
		return err
	}
	w.warn("what a GPU has computed was lost: %v; it is computed again on the CPU", err)
	return nil
}

// largest is the number of entries of the largest tensor that a step computes or
// multiplies.
func largest(g *model.Graph) int {
	n := 0
	for i := range g.Steps {
		s := &g.Steps[i]
		n = max(n, model.Size(s.Shape))
		for j := range s.Acc.Products {
			p := &s.Acc.Products[j]
			n = max(n, model.Size(g.Tensors[p.A].Shape), model.Size(g.Tensors[p.B].Shape))
		}
	}
	return n
}

// worth says whether a forward pass goes to a GPU.
func (d *Device) worth(g *model.Graph) bool {
	if d.forward < 0 {
		return cuda.Worth(g, d.threshold)
	}
	return largest(g) >= d.forward
}

// Close gives back the memory on the GPUs.
func (d *Device) Close() {
	for _, g := range d.gpus {
		g.machine.Close()
	}
}

// backend makes the backends of proofs and commitments on the first GPU.
func (d *Device) backend(w *watch) func(*model.Graph, backend.Witness) backend.Backend {
	return func(g *model.Graph, wit backend.Witness) backend.Backend { return d.backendOn(d.first(), w, g, wit) }
}

// prover are the options of package prover.
func (d *Device) prover(o *options, w *watch) prover.Options {
	return prover.Options{Backend: d.backend(w), Lanes: d.lanes(o, w), Progress: w.follow()}
}

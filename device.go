package provemodel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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
		return errors.New("All opens all GPUs, and Devices names some")
	case o.Threshold < 0:
		return fmt.Errorf("Threshold is %d: want entries, or 0 for what pays", o.Threshold)
	case o.Streams < 0:
		return fmt.Errorf("Streams is %d: want 1 or more, or 0 for %d", o.Streams, defaultStreams)
	case o.MemoryBudget < 0:
		return fmt.Errorf("MemoryBudget is %d: want bytes, or 0 for no bound", o.MemoryBudget)
	}
	for i, n := range o.Devices {
		if n < 0 || slices.Contains(o.Devices[:i], n) {
			return fmt.Errorf("Devices are %v: want the numbers of GPUs, from 0 on, each once", o.Devices)
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
	return openGPU(ctx, orDefault(opts), findGPUs)
}

// orProcessor returns a device that options name, the processor for nil.
func orProcessor(d *Device) *Device {
	if d == nil {
		return &Device{}
	}
	return d
}

// found is a GPU to open.
type found struct {
	name string
	open func() (kernels.Device, error)
}

// findGPUs lists the GPUs that the options ask for.
func findGPUs(o *GPUOptions) ([]found, error) {
	all, err := nvrtc.Devices()
	if err != nil || len(all) == 0 {
		return nil, err
	}
	numbers := o.Devices
	switch {
	case numbers == nil && !o.All:
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

func openGPU(ctx context.Context, o *GPUOptions, find func(*GPUOptions) ([]found, error)) (*Device, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	w := newWatch(o.Observer)
	defer w.stop()
	d := &Device{required: o.Required, track: o.CheckMemory, threshold: backend.DefaultThreshold, forward: -1}
	if o.Threshold > 0 {
		d.threshold, d.forward = o.Threshold, o.Threshold
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
	case err == nil && len(errs) > 0 && o.Required:
		return nil, errors.Join(errs...)
	case err == nil:
		for _, e := range errs {
			w.warn("%v; it is left out", e)
		}
	case o.Required:
		return nil, fmt.Errorf("no GPU: %w", err)
	default:
		w.warn("no GPU: %v; proving on the CPU", err)
		return &Device{}, nil
	}
	return d, nil
}

// open opens a GPU.
func (d *Device) open(ctx context.Context, f found, o *GPUOptions, w *watch) (*gpu, error) {
	dev, err := f.open()
	if err == nil {
		err = load(ctx, dev, w)
	}
	if err != nil {
		return nil, err
	}
	g := &gpu{name: f.name, machine: cuda.NewMachine(dev), lanes: cmp.Or(o.Streams, defaultStreams), budget: o.MemoryBudget}
	if o.CheckMemory {
		g.lanes = 1
	}
	g.machine.SetLanes(g.lanes)
	var ok bool
	if g.free, ok = available(dev); ok {
		g.piece = min(g.free, int(share{memory: o.MemoryBudget}.bytes())) / 8
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
func (d *Device) machine(s share, p *plan.Plan, w *watch) forward.Machine {
	m := &forwards{d, w, nil}
	if len(d.gpus) > 1 {
		m.homes = d.lanes(s, w).Homes(p)
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
func (d *Device) prover(s share, w *watch) prover.Options {
	return prover.Options{Backend: d.backend(w), Lanes: d.lanes(s, w), Progress: w.follow()}
}

// Package devices opens GPUs and runs forward passes and proofs on them. When a GPU fails or is short of memory, another GPU or
// the processor does the work, and a warning says so, or, if GPUs are required, an error.
package devices

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/nvrtc"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/peers"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
	"github.com/prove-model/prove-model/prover/machine/schedule"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/prover"
)

// Log prints a warning about something that did not end the work. Its parameters are those of fmt.Printf.
type Log func(format string, args ...any)

// A Set is some GPUs and the processor, which does what the GPUs do not. The zero Set has no GPU. Proofs that are made at the
// same time on one Set share its scheduler.
type Set struct {
	gpus     []*gpu // none: the processor alone
	required bool
	track    bool
	// threshold is a number of entries: a step of a proof over fewer is done on the processor.
	threshold int
	// forward is a number of entries too: the forward pass runs on a GPU if one of its steps
	// computes or multiplies a tensor of at least so many. −1 has run.Worth decide.
	forward int

	mu       sync.Mutex
	schedule *schedule.Scheduler // of the GPUs, then the CPU; nil until wanted
	noted    map[string]bool     // warnings that are given once, and have been (once)
}

// gpu is one of a Set.
type gpu struct {
	name    string
	number  int // among those of the Set
	machine *cuda.Machine
	// free is how many bytes of the GPU's memory were free when it was opened; 0 if the driver does
	// not tell. Weights that do not fit are uploaded piece bytes at a time.
	free, piece int
	streams     int
	budget      int64 // of a proof beside the weights, in bytes; 0 for none

	mu   sync.Mutex
	lost bool
}

// Found is a GPU of this machine that has not been opened yet.
type Found struct {
	Name string
	Open func() (kernels.Device, error)
}

// Find lists the GPUs with these numbers, as the driver counts. If numbers is nil it lists the first GPU, or with every all of
// them. The list is empty if the machine has none.
func Find(numbers []int, every bool) ([]Found, error) {
	all, err := nvrtc.Devices()
	if err != nil || len(all) == 0 {
		return nil, err
	}
	switch {
	case numbers == nil && !every:
		numbers = []int{0}
	case numbers == nil:
		for i := range all {
			numbers = append(numbers, i)
		}
	}
	gpus := seq.Map(numbers, func(n int) Found {
		return Found{fmt.Sprintf("GPU %d", n), func() (kernels.Device, error) { return kernels.CachedFor(n) }}
	})
	return gpus, nil
}

// Options say how GPUs are used.
type Options struct {
	Required     bool  // a GPU that cannot be had, or that fails on the way, is an error rather than a warning
	CheckMemory  bool  // chunks are proved one after the other, and their memory is held against its estimate
	Threshold    int   // the least size of a step that goes to a GPU; 0: what pays
	Streams      int   // chunks that are proved at once on a GPU, as far as its memory allows
	MemoryBudget int64 // of a proof on each GPU beside the weights, in bytes; 0: no bound
}

// Open takes the results of Find, its error included, opens the GPUs and loads their kernels. load is called to do the latter:
// it calls f, and may report that as a phase of its own. A GPU that cannot be used is left out with a warning. If none is left,
// the Set has none, with a warning as well. With Options.Required both are errors.
func Open(ctx context.Context, gpus []Found, err error, o Options, load func(ctx context.Context, f func() error) error, warn Log) (*Set, error) {
	d := &Set{required: o.Required, track: o.CheckMemory, threshold: backend.DefaultThreshold, forward: -1}
	if o.Threshold > 0 {
		d.threshold, d.forward = o.Threshold, o.Threshold
	}
	defer func() {
		for _, g := range d.gpus {
			g.machine.Sharing = len(d.gpus)
		}
	}()
	var errs []error
	for _, f := range gpus {
		g, err := d.open(ctx, f, o, load)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.Name, err))
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
			warn("%v; it is left out", e)
		}
	case o.Required:
		return nil, fmt.Errorf("no GPU: %w", err)
	default:
		warn("no GPU: %v; proving on the CPU", err)
		return &Set{}, nil
	}
	return d, nil
}

// open opens a GPU, loads its kernels, and limits the memory for weights to half of what is free until Reserve knows better.
func (d *Set) open(ctx context.Context, f Found, o Options, load func(ctx context.Context, f func() error) error) (_ *gpu, err error) {
	defer must.Catch(&err)
	dev := must.Get(f.Open())
	must.OK(loadKernels(ctx, dev, load))
	g := &gpu{name: f.Name, machine: cuda.NewMachine(dev), streams: o.Streams, budget: o.MemoryBudget}
	if o.CheckMemory {
		g.streams = 1
	}
	g.machine.Streams, g.machine.Threshold = g.streams, d.threshold
	var ok bool
	if g.free, ok = available(dev); ok {
		g.piece = min(g.free, int(Share{Memory: o.MemoryBudget}.bytes())) / 8
		g.machine.MaxResident, g.machine.Piece = g.free/2, g.piece
	}
	return g, nil
}

// FreeMemory returns the bytes of a GPU's memory that are free now, of that number as
// the driver counts. The error says why it cannot be used.
func FreeMemory(gpu int) (_ int64, err error) {
	defer must.Catch(&err)
	dev := must.Get(kernels.CachedFor(gpu))
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

// loadKernels compiles the kernels, or takes them from their cache, so that the phases
// that follow do not wait for that, and what is wrong with the compiler shows
// at once.
func loadKernels(ctx context.Context, dev kernels.Device, load func(ctx context.Context, f func() error) error) error {
	l, ok := dev.(interface {
		Load(ctx context.Context, groups ...string) error
	})
	if !ok {
		return nil
	}
	return load(ctx, func() error { return l.Load(ctx) })
}

// Reserve leaves free on each GPU the memory that proofs need beside a graph's weights. Weights
// that do not fit into the rest are streamed in pieces. The values of so many runs are on a GPU
// at the same time.
func (d *Set) Reserve(p *plan.Plan, runs int, warn Log) {
	g := d.first()
	if g == nil {
		return
	}
	need := g.settle(p, runs)
	switch {
	case g.free > 0 && need.Peak() > int64(g.free):
		d.WarnOnce("memory", warn, "this takes about %.2f GB of the GPU's memory, and %.2f GB are free: not all of it will be done there",
			float64(need.Peak())/1e9, float64(g.free)/1e9)
	case g.budget > 0 && need.Working() > g.budget:
		d.WarnOnce("device budget", warn, "proving takes %.2f GB of the GPU beside the weights at least, and the budget is %.2f GB: it will take more",
			float64(need.Working())/(1<<30), float64(g.budget)/(1<<30))
	}
	for _, g := range d.gpus {
		if n := g.settle(p, runs); g.free > 0 {
			g.machine.MaxResident, g.machine.Piece = max(1, g.free-int(n.Working())), g.piece
		}
	}
}

// settle chooses what a proof keeps on a GPU and what it recomputes, by the free memory and the
// budget, and returns the memory that it then needs.
func (g *gpu) settle(p *plan.Plan, runs int) *cuda.Need {
	return g.machine.Settle(p, int64(g.free), g.budget, runs)
}

// once reports whether it is called for the first time with this text. Warnings that would come again at each step are given
// only then.
func (d *Set) once(what string) bool {
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
func (d *Set) GPU() bool { return d.first() != nil }

// first returns the first GPU that has not failed yet, nil if there is none.
func (d *Set) first() *gpu {
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
func (d *Set) fail(g *gpu, warn Log, err error) {
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
		warn("%s failed: %v; going on on the others", g.name, err)
	} else {
		warn("the GPU failed: %v; going on on the CPU", err)
	}
}

// policy says what follows from an error of a GPU: a warning, unless GPUs are required.
func (d *Set) policy(g *gpu, warn Log) backend.Policy {
	p := backend.Policy{Threshold: d.threshold, Passes: OutOfMemory}
	if !d.required {
		p.Warn = func(err error) {
			if !OutOfMemory(err) {
				d.fail(g, warn, err)
			} else if d.once(g.name + ": step") {
				warn("a step was short of memory on the GPU: %v; it is done on the CPU", err)
			}
		}
	}
	return p
}

// OutOfMemory says whether an error is that of a GPU that is full.
func OutOfMemory(err error) bool { return errors.Is(err, kernels.ErrMemory) }

// Machine returns what runs forward passes over a plan's graph. A step runs on the GPU that its
// chunk is proved on, where its weights and values are then.
func (d *Set) Machine(s Share, p *plan.Plan, warn Log) forward.Machine {
	m := &forwards{Set: d, warn: warn, plan: p}
	if len(d.gpus) > 1 {
		m.affinity = d.machines(s, warn).Affinities(p)
	}
	return m
}

type forwards struct {
	*Set
	warn     Log
	affinity []int      // devices by chunk
	plan     *plan.Plan // that the run is for
}

// watch has the values of a run of g committed to while it goes on, if it is what the plan is for.
func (f *forwards) watch(g *model.Graph) func(*run.Run) run.Watcher {
	p := f.plan
	if p == nil || p.Pads != nil || len(g.Tensors) != len(p.Graph.Tensors) || g.Chunks != p.Graph.Chunks {
		return nil
	}
	var sent []backend.Commitment
	for i := range p.Trees {
		if p.Trees[i].Sent() {
			sent = append(sent, p.Trees[i].Commitment)
		}
	}
	return func(r *run.Run) run.Watcher {
		if a := peers.NewAhead(r, g, f.leastShared(), sent); a != nil {
			return a
		}
		return nil
	}
}

// Run implements forward.Machine. What a GPU cannot do another one does, or the CPU.
func (f *forwards) Run(ctx context.Context, g *model.Graph, weights model.Weights, inputs [][]int32) (forward.Kept, error) {
	for {
		first := f.first()
		if first == nil || !f.worth(g) {
			return nil, nil
		}
		on := &run.Forward{Host: f.threshold, Contexts: []*device.Context{first.machine.Context}, Watch: f.watch(g)}
		if len(f.affinity) > 0 {
			on.Contexts = nil
		}
		for _, at := range f.affinity {
			if !f.gpus[at].works() {
				at = first.number
			}
			on.Contexts = append(on.Contexts, f.gpus[at].machine.Context)
		}
		kept, err := on.Run(ctx, g, weights, inputs)
		var failed *device.Error
		if err == nil || ctx.Err() != nil || f.required || !errors.As(err, &failed) {
			return kept, err
		}
		for _, x := range f.gpus {
			if x.machine.Context == failed.On {
				f.policy(x, f.warn).Warn(err)
			}
		}
		if OutOfMemory(err) {
			return nil, nil
		}
	}
}

// Kept handles the error of a forward pass whose results a GPU could not return: it warns, as
// they are computed again on the processor, or returns the error if GPUs are required.
func (d *Set) Kept(wit *forward.Witness, warn Log) error {
	err := wit.Err()
	if err == nil || d.required {
		return err
	}
	warn("what a GPU has computed was lost: %v; it is computed again on the CPU", err)
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
			for _, id := range []model.TensorID{p.A, p.B} {
				if !g.IsProduct(id) { // which is never made
					n = max(n, model.Size(g.Tensors[id].Shape))
				}
			}
		}
	}
	return n
}

// worth says whether a forward pass goes to a GPU.
func (d *Set) worth(g *model.Graph) bool {
	if d.forward < 0 {
		return run.Worth(g, d.threshold)
	}
	return largest(g) >= d.forward
}

// Close gives back the memory on the GPUs.
func (d *Set) Close() {
	for _, g := range d.gpus {
		g.machine.Close()
	}
}

// Backend makes the backends of proofs and commitments on the first GPU that works.
func (d *Set) Backend(warn Log) func(*model.Graph, backend.Witness) backend.Backend {
	return func(g *model.Graph, wit backend.Witness) backend.Backend { return d.backendOn(d.first(), warn, g, wit) }
}

// Prover returns the options that package prover takes from a device.
func (d *Set) Prover(s Share, warn Log) prover.Options {
	return prover.Options{Backend: d.Backend(warn), Pool: d.machines(s, warn)}
}

// Taken is what a proof takes of each GPU.
type Taken struct {
	Peak   int64 // the most bytes, weights included; 0 without a GPU
	Beside int64 // of them, beside the weights
	Free   int64 // bytes that were free; 0 if the driver does not tell
	Budget int64 // of a proof beside the weights, 0 for none
	// Whole says that all steps from so many entries on are done there: the host has neither values of the run nor tables of them.
	Whole     bool
	Threshold int
}

// Takes returns what a proof takes of each GPU, as Reserve settles it.
func (d *Set) Takes(p *plan.Plan) Taken {
	g := d.first()
	if g == nil {
		return Taken{}
	}
	n := g.machine.Would(p, int64(g.free), g.budget, 1)
	t := Taken{Peak: n.Peak(), Beside: n.Working(), Free: int64(g.free), Budget: g.budget, Threshold: d.threshold}
	// A run that begins with hidden inputs is the processor's.
	t.Whole = (t.Free == 0 || t.Peak <= t.Free) && len(p.Graph.Hidden) == 0 && d.worth(p.Graph)
	return t
}

// Fits says whether that is what there is.
func (t Taken) Fits() bool {
	return (t.Free == 0 || t.Peak <= t.Free) && (t.Budget == 0 || t.Beside <= t.Budget)
}

// WarnOnce warns if nobody has been warned of this so far.
func (d *Set) WarnOnce(of string, warn Log, format string, args ...any) {
	if d.once(of) {
		warn(format, args...)
	}
}

// Names lists the GPUs.
func (d *Set) Names() []string {
	return seq.Map(d.gpus, func(g *gpu) string { return g.name })
}

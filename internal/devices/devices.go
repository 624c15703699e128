// Package devices opens GPUs and runs forward passes and proofs on them. If a GPU fails or is short of memory, another GPU or
// the processor does the work, and a warning says so; if GPUs are required, that is an error instead.
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

// Log prints a warning about a problem that did not end the work. Its parameters are those of fmt.Printf.
type Log func(format string, args ...any)

// A Set has some GPUs, and the processor, which does all that the GPUs do not do. The zero Set has no GPU. Proofs that are
// made at the same time on one Set share its scheduler.
type Set struct {
	gpus     []*gpu // empty: the processor alone
	required bool   // a GPU that fails is an error
	track    bool   // the memory that chunks take is compared with its estimate
	// threshold is the number of entries from which on a step of a proof is done on a GPU; smaller steps are done on the
	// processor.
	threshold int
	// forward is a number of entries too: the forward pass runs on a GPU if one of its steps
	// computes or multiplies a tensor of at least so many entries. If it is −1, run.Worth
	// decides.
	forward int

	mu       sync.Mutex
	schedule *schedule.Scheduler // of the GPUs in order, then the processor; nil before the first proof
	noted    map[string]bool     // the warnings that once has let pass
}

// gpu is a GPU of a Set.
type gpu struct {
	name    string
	number  int // index in Set.gpus
	machine *cuda.Machine
	// free is the number of bytes of the GPU's memory that were free when it was opened; 0 if the
	// driver does not tell. Weights that do not fit are uploaded in pieces of `piece` bytes.
	free, piece int
	streams     int   // how many chunks are proved on it at once
	budget      int64 // memory for a proof beside the weights, in bytes; 0: no bound

	mu   sync.Mutex
	lost bool
}

// Found is a GPU of this machine that has not been opened yet.
type Found struct {
	Name string
	Open func() (kernels.Device, error)
}

// Find lists the GPUs with these numbers, as the driver counts them. If numbers is nil it lists all GPUs if `every` is set,
// else the first. The list is empty if the machine has none.
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
	Required     bool  // a GPU that cannot be opened, or fails later, is an error rather than a warning
	CheckMemory  bool  // chunks are proved one after the other, and the memory of each is compared with its estimate
	Threshold    int   // least size of a step that goes to a GPU, in entries; 0: what pays
	Streams      int   // most chunks that are proved at once on a GPU, as far as its memory allows
	MemoryBudget int64 // memory of each GPU for a proof beside the weights, in bytes; 0: no bound
}

// Open opens the GPUs that Find has listed, and loads their kernels. err is the error of Find. load must call f, which loads
// the kernels of one GPU; it may report that as a phase. A GPU that cannot be used is left out with a warning. If none is left,
// the Set has no GPU, with a warning too. With Options.Required both are errors.
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

// open opens a GPU and loads its kernels. It limits the memory for weights to half of what is free; Reserve replaces
// that limit once a plan is known.
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

// FreeMemory returns how many bytes of a GPU's memory are free. gpu is its number, as
// the driver counts. The error says why the GPU cannot be used.
func FreeMemory(gpu int) (_ int64, err error) {
	defer must.Catch(&err)
	dev := must.Get(kernels.CachedFor(gpu))
	n, ok := available(dev)
	if !ok {
		return 0, errors.New("it does not tell its memory")
	}
	return int64(n), nil
}

// available returns the free bytes of a device; ok is false if the device cannot tell.
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

// loadKernels compiles the kernels or takes them from their cache. Thus later phases
// need not wait for the compiler, and errors of the compiler show at once.
func loadKernels(ctx context.Context, dev kernels.Device, load func(ctx context.Context, f func() error) error) error {
	l, ok := dev.(interface {
		Load(ctx context.Context, groups ...string) error
	})
	if !ok {
		return nil
	}
	return load(ctx, func() error { return l.Load(ctx) })
}

// Reserve keeps free on each GPU the memory that a proof of plan p needs beside the weights.
// Weights that do not fit into the rest are uploaded in pieces, as they are needed. runs is the
// number of runs whose values are on a GPU at the same time.
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

// settle decides, from the free memory and the budget, which values of a proof the GPU keeps
// and which it recomputes. It returns the memory that the proof then needs.
func (g *gpu) settle(p *plan.Plan, runs int) *cuda.Need {
	return g.machine.Settle(p, int64(g.free), g.budget, runs)
}

// once says whether it is called for the first time with this text. It is for warnings that would otherwise be repeated at
// each step.
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

// works says whether the GPU has not failed.
func (g *gpu) works() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.lost
}

// fail stops the use of a GPU, and warns at the first call.
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

// policy says what happens after an error of a GPU: a warning, and the processor or another GPU does the work, unless
// GPUs are required.
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

// OutOfMemory says whether an error means that a GPU has not enough memory.
func OutOfMemory(err error) bool { return errors.Is(err, kernels.ErrMemory) }

// Machine returns the machine that runs forward passes over a plan's graph. Each step runs on
// the GPU that will prove its chunk, so that the weights and values are where the proof needs
// them.
func (d *Set) Machine(s Share, p *plan.Plan, warn Log) forward.Machine {
	m := &forwards{Set: d, warn: warn, plan: p}
	if len(d.gpus) > 1 {
		m.affinity = d.machines(s, warn).Affinities(p)
	}
	return m
}

// forwards implements forward.Machine on the GPUs of a Set.
type forwards struct {
	*Set
	warn     Log
	affinity []int      // numbers of GPUs, by chunk
	plan     *plan.Plan // the plan of the proof that the run is for; may be nil
}

// watch returns what makes watchers that commit to the values of a run of g while the run goes on. It returns nil if g
// is not the graph of the plan, or if the proof is masked.
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

// Run implements forward.Machine. If a GPU fails, Run begins again on another one, or returns nil for the processor.
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

// Kept handles the error of a forward pass whose results a GPU could not return. It warns,
// and the results are computed again on the processor; if GPUs are required it returns the
// error.
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
				if !g.IsProduct(id) { // a virtual product is never stored
					n = max(n, model.Size(g.Tensors[id].Shape))
				}
			}
		}
	}
	return n
}

// worth says whether a forward pass of g runs on a GPU.
func (d *Set) worth(g *model.Graph) bool {
	if d.forward < 0 {
		return run.Worth(g, d.threshold)
	}
	return largest(g) >= d.forward
}

// Close frees the memory on the GPUs.
func (d *Set) Close() {
	for _, g := range d.gpus {
		g.machine.Close()
	}
}

// Backend returns the function that makes backends of proofs and commitments, on the first GPU that works.
func (d *Set) Backend(warn Log) func(*model.Graph, backend.Witness) backend.Backend {
	return func(g *model.Graph, wit backend.Witness) backend.Backend { return d.backendOn(d.first(), warn, g, wit) }
}

// Prover returns the part of package prover's options that depends on the devices.
func (d *Set) Prover(s Share, warn Log) prover.Options {
	return prover.Options{Backend: d.Backend(warn), Pool: d.machines(s, warn)}
}

// Taken says how much memory a proof takes of each GPU, in bytes.
type Taken struct {
	Peak   int64 // at most, weights included; 0 without a GPU
	Beside int64 // the part of Peak beside the weights
	Free   int64 // that were free when the GPU was opened; 0 if the driver does not tell
	Budget int64 // for a proof beside the weights; 0: no bound
	// Whole says that the GPU does all steps of at least Threshold entries. The host then has neither the values of the
	// run nor tables of them.
	Whole     bool
	Threshold int
}

// Takes returns how much memory a proof of a plan takes of each GPU, with the choices that Reserve makes.
func (d *Set) Takes(p *plan.Plan) Taken {
	g := d.first()
	if g == nil {
		return Taken{}
	}
	n := g.machine.Would(p, int64(g.free), g.budget, 1)
	t := Taken{Peak: n.Peak(), Beside: n.Working(), Free: int64(g.free), Budget: g.budget, Threshold: d.threshold}
	// The first steps of a run with hidden inputs are done on the processor.
	t.Whole = (t.Free == 0 || t.Peak <= t.Free) && len(p.Graph.Hidden) == 0 && d.worth(p.Graph)
	return t
}

// Fits says whether the GPU has enough memory, and the budget suffices.
func (t Taken) Fits() bool {
	return (t.Free == 0 || t.Peak <= t.Free) && (t.Budget == 0 || t.Beside <= t.Budget)
}

// WarnOnce warns, at its first call with this key `of`.
func (d *Set) WarnOnce(of string, warn Log, format string, args ...any) {
	if d.once(of) {
		warn(format, args...)
	}
}

// Names returns the names of the GPUs.
func (d *Set) Names() []string {
	return seq.Map(d.gpus, func(g *gpu) string { return g.name })
}

package provemodel

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/cost"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/resident"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cache"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/math/arena"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/protocol/whir"
	"github.com/prove-model/prove-model/prover/prover"
	"github.com/prove-model/prove-model/quantise"
)

// LimitMemory has this process keep within so many bytes of memory, pages of mapped
// files included, until release is called. Weights and the tables of proofs that do not
// fit lie in files without a name in a folder, or in the cache's folder if that is
// empty; the system gives them memory as far as it has some. Commit and Prove begin
// nothing that cannot keep within the limit, and return a *MemoryError. Proofs are the
// same. release returns the most bytes that were in files, and the error of the first
// file that could not be had, for which memory was taken.
//
// There is one limit at a time; a second one is an error. Files, and what
// the system says about memory, are those of Linux: elsewhere only the collector keeps
// to the limit.
func LimitMemory(bytes int64, folder string) (release func() (inFiles int64, err error), err error) {
	if folder == "" {
		if folder, err = cache.DefaultPath(); err != nil {
			folder = os.TempDir()
		}
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("folder for what does not fit into memory: %w", err)
	}
	return arena.Bound(bytes, filepath.Clean(folder))
}

// MemoryError says that something cannot be done within the limit (LimitMemory), and
// which is the least that would do.
type MemoryError struct {
	Limit, Least int64
	At           string // the model's node where that is, if one alone asks for it
}

func (e *MemoryError) Error() string {
	what := "this"
	if e.At != "" {
		what = "a run of the float model up to " + e.At
	}
	return fmt.Sprintf("%s takes %.2f GB of memory at least, and the limit is %.2f GB", what, gb(e.Least), gb(e.Limit))
}

// runnable returns an error if running the float model would take more memory than the limit
// of the process (LimitMemory) or than the system has free.
func runnable(g *graph.Graph) error {
	elements, n := g.Peak()
	if n == nil {
		return nil
	}
	least, at := 8*int64(elements), fmt.Sprintf("%s %s", graph.Kind(n.Op), graph.Quote(n.Name))
	if limit := arena.Bounded(); limit > 0 && least > limit {
		return &MemoryError{limit, least, at}
	}
	if free := resident.Available(); free > 0 && least > free {
		return fmt.Errorf("a run of the float model up to %s takes %.2f GB of memory at least, and the system has %.2f GB free", at, gb(least), gb(free))
	}
	return nil
}

// publishable returns an error if the model's inputs and outputs, which a proof contains, together
// have more entries than a proof may have (plan.MaxPublic).
func publishable(g *graph.Graph) error {
	n := 0
	for _, in := range g.Inputs {
		n += graph.Size(in.Shape)
	}
	for _, name := range g.Outputs {
		if n += graph.Size(g.Shapes[name]); n > plan.MaxPublic {
			return fmt.Errorf("model: output %s has shape %v: inputs and outputs of a proof have %d entries at most", graph.Quote(name), g.Shapes[name], plan.MaxPublic)
		}
	}
	return nil
}

// gb converts bytes to GB of 2^30 bytes, the unit of settings such as --memory-gb.
func gb(bytes int64) float64 { return float64(bytes) / (1 << 30) }

// within returns a *MemoryError if the work takes more memory than the limit of the process.
func (e *Estimate) within() error {
	if limit := arena.Bounded(); limit > 0 && e.Least > limit {
		return &MemoryError{Limit: limit, Least: e.Least}
	}
	return nil
}

// bounded sets a limit of the process's memory (LimitMemory) until release: the weights and
// MemoryBudget together. It sets none if the proof takes less than the budget anyway, as where a GPU does all of it, or if a limit
// is set already. A budget below the least that a proof takes is raised to that, with a warning, one for all proofs on a Device.
func (o *ProveOptions) bounded(e *Estimate, w *watch) (release func(), err error) {
	if o.MemoryBudget == 0 || e.Beside <= o.MemoryBudget || e.Memory <= e.Least || arena.Bounded() > 0 {
		return func() {}, nil
	}
	bytes := e.Memory - e.Beside + o.MemoryBudget
	if e.Least > bytes {
		least := e.Least - (e.Memory - e.Beside)
		orProcessor(o.Device).set().WarnOnce("budget", w.warn, "proving takes %.2f GB beside the weights at least, and the budget is %.2f GB: it will take more",
			gb(least), gb(o.MemoryBudget))
		bytes = e.Least
	}
	end, err := LimitMemory(bytes, o.CacheDir)
	if errors.Is(err, arena.ErrBound) {
		return func() {}, nil // that of another proof
	}
	if err != nil {
		return nil, err
	}
	return func() {
		if _, err := end(); err != nil {
			w.warn("the budget was not kept: %v", err)
		}
	}, nil
}

// Estimate is what committing to a circuit and proving a run of it take: memory within a
// factor of two (docs/scale.md), time within three on the cores of docs/benchmarks.md.
type Estimate struct {
	// Memory is what the process takes at most, if nothing limits it. Of that, Beside is
	// what the proof takes beside the weights and the files of the model.
	Memory int64 `json:"memory_bytes"`
	Beside int64 `json:"beside_weights_bytes"`
	// Least is the least limit (LimitMemory) that will do.
	Least int64 `json:"least_memory_bytes"`
	// Device is what is taken of each GPU at most, 0 without one, and DeviceBeside what of it is beside the weights: what is bounded by
	// GPUOptions.MemoryBudget. Where GPUs do the whole proof, the process does not take its values, trees and tables besides.
	Device       int64 `json:"device_memory_bytes"`
	DeviceBeside int64 `json:"device_beside_weights_bytes"`
	// DeviceShort says that this is more than a GPU has free, or than the bound.
	DeviceShort bool `json:"device_short"`
	// Commit and Prove are seconds of all cores together.
	Commit float64 `json:"commit_seconds"`
	Prove  float64 `json:"prove_seconds"`
}

// Estimate estimates the commitment to the circuit and a proof of its run on an input, with the options that Commit and Prove
// get, which may be nil.
func (c *Circuit) Estimate(in Input, commit *CommitOptions, prove *ProveOptions) (*Estimate, error) {
	return c.EstimateTexts([]Input{in}, commit, prove)
}

// planBefore is the plan of a proof before there is a key.
func (c *Circuit) planBefore(o *ProveOptions, g *model.Graph, cfg soundness.Config) (*plan.Plan, error) {
	if !c.statesTokens(o) {
		return plan.New(g, cfg)
	}
	tokens, err := c.quantised.Circuit.At(c.asTokens(g.Instance))
	if errors.Is(err, model.ErrReveal) {
		return plan.New(g, cfg)
	}
	if err != nil {
		return nil, err
	}
	return plan.New(tokens, cfg)
}

// EstimateTexts is Estimate for one proof of several texts (ProveTexts).
func (c *Circuit) EstimateTexts(texts []Input, commit *CommitOptions, prove *ProveOptions) (_ *Estimate, err error) {
	defer must.Catch(&err)
	to := orDefault(commit)
	sec := must.Get(to.security())
	must.OK(to.checkHiding())
	o := orDefault(prove)
	must.OK(o.validate())
	q, _, _, err := c.rounded(texts)
	must.OK(err)
	must.OK(c.roomForTexts(o, q.Graph, len(texts)))
	var p *plan.Plan
	if to.Hide != "" {
		d := must.Get(c.draft(to, sec))
		p = must.Get(plan.NewHiding(q.Graph, sec.Config(), d.Plan.Choice.FixedTailLog, d.Plan.Choice.FixedRows(), d.Plan.Choice.FixedTailLog))
	} else {
		p = must.Get(c.planBefore(o, q.Graph, sec.Config()))
	}
	return c.estimate(o, q, p), nil
}

// Bytes of memory of what the estimate counts.
const (
	programBytes = 20 << 20 // code, and what a small circuit takes
	// columnBytes are those of a column while a tree is made (whir.Commit), its digests
	// included; rowBytes those of a value of the longest row in the opening, once all
	// variables that number rows are bound; as many again are dropped by then.
	columnBytes = 208
	rowBytes    = 240
	// openedBytes are those of a value of the witness in an opening that keeps its rows,
	// where weights take what they have, and tableBytes those of a value of the two tables
	// once four variables are bound.
	openedBytes = 2
	tableBytes  = 2 * 16 >> 4
	// keeper is what a limit keeps free: pages that come before any are dropped.
	keeper = 160 << 20
	// pinnedBytes are those in which data waits for a GPU's bus: 16 MB for each of its queues.
	pinnedBytes = (defaultStreams + 1) * 16 << 20
	// smallBytes are those of a value or key that a GPU leaves to the host, as the device has it and as an integer, and outputBytes those of an
	// output besides.
	smallBytes, outputBytes = 8, 12
)

// estimate is that of a plan of the circuit in the size of q, with these options.
func (c *Circuit) estimate(o *ProveOptions, q *quantise.Model, p *plan.Plan) *Estimate {
	e := c.estimateOnHost(o.Workers, q, p)
	t := orProcessor(o.Device).set().Takes(p)
	if t.Whole {
		c.besideDevice(e, t.Threshold, o.Resume, q, p)
	}
	e.Device, e.DeviceBeside, e.DeviceShort = t.Peak, t.Beside, !t.Fits()
	return e
}

// besideDevice puts in what the process takes where a GPU does the whole proof: values and keys of steps below a threshold, outputs, what a
// segment passes on, and the digests of weights; those of the witness if they are kept for a run that is interrupted.
func (c *Circuit) besideDevice(e *Estimate, threshold int, resume bool, q *quantise.Model, p *plan.Plan) {
	var values, digests int64
	g := p.Graph
	small := func(n int) {
		if n < threshold {
			values += smallBytes * int64(n)
		}
	}
	for i := range g.Tensors {
		if t := &g.Tensors[i]; t.Kind == model.Witness {
			small(model.Size(t.Shape))
		}
	}
	for i := range g.Steps {
		if s := &g.Steps[i]; s.Kind == model.StepLookup {
			small(model.Size(s.Shape))
		}
	}
	for _, a := range g.Apart {
		for _, id := range a.Tensors {
			values += smallBytes * int64(model.Size(g.Tensors[id].Shape))
		}
	}
	for _, id := range q.Graph.Outputs {
		values += outputBytes * int64(model.Size(q.Graph.Tensors[id].Shape))
	}
	for i := range p.Trees {
		if p.Trees[i].Fixed || resume {
			digests += 64 << p.Trees[i].LogDomain()
		}
	}
	weights := bytesOf(q.Weights)
	e.Beside = 2*values + digests + pinnedBytes
	e.Memory = programBytes + c.mapped + max(2*weights+e.Beside, c.floats)
	e.Least = (programBytes + keeper + pinnedBytes + digests + max(values, c.floats)) / 15 * 16
}

// bytesOf are those of all weights.
func bytesOf(weights model.Weights) (n int64) {
	for _, v := range weights {
		if v != nil {
			n += int64(v.Len()) * int64(v.Width())
		}
	}
	return n
}

// estimateOnHost is the estimate where the processor does all, with so many workers.
func (c *Circuit) estimateOnHost(workers int, q *quantise.Model, p *plan.Plan) *Estimate {
	var fixed, witness int // entries
	weights := bytesOf(q.Weights)
	var widest int64 // entries of a tensor that is made when it is wanted, or an accumulator
	for i := range q.Graph.Tensors {
		switch t := &q.Graph.Tensors[i]; t.Kind {
		case model.Fixed:
			fixed += model.Size(t.Shape)
		case model.Witness:
			witness += model.Size(t.Shape)
		case model.Virtual:
			if t.Product != nil { // which is never made
				break
			}
			widest = max(widest, int64(model.Size(t.Shape)))
		}
	}
	values := 4 * int64(witness)
	for i := range q.Graph.Steps {
		n := int64(model.Size(q.Graph.Steps[i].Shape))
		widest = max(widest, n)
		if q.Graph.Steps[i].Kind == model.StepLookup {
			values += 4 * n // keys
		}
	}
	var columns, opened, digests int64
	for i := range p.Trees {
		l := &p.Trees[i].Commitment.Layout
		columns = max(columns, 1<<l.LogDomain())
		digests += 64 << l.LogDomain()
		switch {
		case p.Params == nil || !whir.Keeps(p.Params.RowVars()-l.RowVars):
		case p.Trees[i].Fixed:
			opened += weights
		default:
			opened += openedBytes * int64(l.Rows()) << l.RowVars
		}
	}
	commit, row, tables := columnBytes*columns, int64(0), int64(0)
	if p.Params != nil {
		row, tables = rowBytes<<p.Params.RowVars(), tableBytes<<p.Params.NumVars()
	}
	var task int64
	for _, f := range p.Forks {
		task = max(task, cpu.TaskNeed(p.Graph, f))
	}
	task *= int64(max(1, workers))
	e := &Estimate{}
	e.Commit, e.Prove = cost.ProcessorTime(p.Config.Hash, fixed, witness)
	cores := float64(runtime.GOMAXPROCS(0))
	e.Commit, e.Prove = e.Commit/cores, e.Prove/cores
	// What is made while a run goes on, and dropped: accumulators and virtual tensors.
	run := 24 * widest
	// The collector lets its memory grow to twice what is in use: hence 2·values. What
	// follows the commitment is in arenas. It comes on top of the commitment's columns, which
	// are dropped by then but may not be collected yet.
	e.Beside = 2*values + digests + commit + max(run, task, opened+tables+2*row)
	e.Memory = programBytes + c.mapped + max(2*weights+e.Beside, c.floats)
	e.Least = (programBytes + keeper + digests + max(run, commit, row, c.floats)) / 15 * 16
	return e
}

// estimateUnit is the estimate of a commitment, with the least sizes.
func (c *Circuit) estimateUnit(d *Device, sec proof.Security) (_ *Estimate, _ *plan.Plan, err error) {
	defer must.Catch(&err)
	p := must.Get(prover.Plan(c.quantised.Circuit, sec))
	e, err := c.estimatePlan(d, p)
	return e, p, err
}

// estimatePlan is the estimate of the commitment of a plan.
func (c *Circuit) estimatePlan(d *Device, p *plan.Plan) (_ *Estimate, err error) {
	defer must.Catch(&err)
	q := must.Get(c.quantised.At(p.Graph.Instance))
	return c.estimate(&ProveOptions{Device: d}, q, p), nil
}

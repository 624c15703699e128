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

// LimitMemory keeps the process within so many bytes of memory until release is called.
// Pages of mapped files count. Weights and tables of proofs that do not fit are put
// into unnamed files in the given folder, or in the cache's folder if that is ""; the
// system keeps in memory what it has room for. Commit and Prove return a *MemoryError,
// before any work, if they cannot keep within the limit. The bytes of proofs do not
// depend on it. release returns the greatest number of bytes that were in files, and
// the error of the first file that could not be made, in whose place memory was used.
//
// Only one limit can be in force; setting a second one is an error. The files, and the
// system's figures about memory, are those of Linux: on other systems only the garbage
// collector keeps to the limit.
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

// MemoryError is the error of work that does not fit into the limit of LimitMemory.
// Limit and Least are in bytes; Least is the least limit that would do.
type MemoryError struct {
	Limit, Least int64
	At           string // the node of the float model that alone needs so much; "" if there is no such node
}

func (e *MemoryError) Error() string {
	what := "this"
	if e.At != "" {
		what = "a run of the float model up to " + e.At
	}
	return fmt.Sprintf("%s takes %.2f GB of memory at least, and the limit is %.2f GB", what, gb(e.Least), gb(e.Limit))
}

// runnable returns an error if a run of the float model would take more memory than the
// limit of the process (LimitMemory) or than the system has free. Values of the float model
// are float64, of 8 bytes each.
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

// publishable returns an error if the model's inputs and outputs have more than plan.MaxPublic
// entries together, since a proof contains them.
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

// within returns a *MemoryError if the work takes more memory at least than the limit of the process allows.
func (e *Estimate) within() error {
	if limit := arena.Bounded(); limit > 0 && e.Least > limit {
		return &MemoryError{Limit: limit, Least: e.Least}
	}
	return nil
}

// bounded limits the process's memory (LimitMemory) to the weights and MemoryBudget together, until release is called. It sets no
// limit if the proof stays within the budget anyway, as it does if a GPU makes all of it, or if a limit is in force already. A
// budget below the least that a proof takes is raised to that; a warning says so, once for each Device.
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
		return func() {}, nil // the limit that another proof has set is in force
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

// Estimate says how much memory and time it takes to commit to a circuit and to prove
// one run of it. Memory is right within a factor of two (docs/scale.md), time within a
// factor of three on processor cores like those of docs/benchmarks.md.
type Estimate struct {
	// Memory is the most bytes that the process takes if nothing limits it. Beside is the
	// part of Memory that the proof takes in addition to the weights and the model's
	// files.
	Memory int64 `json:"memory_bytes"`
	Beside int64 `json:"beside_weights_bytes"`
	// Least is the lowest limit (LimitMemory), in bytes, with which the work is possible.
	Least int64 `json:"least_memory_bytes"`
	// Device is the most bytes that are taken of each GPU, 0 without one. DeviceBeside is the part of Device in addition to the
	// weights, which GPUOptions.MemoryBudget bounds. If GPUs make the whole proof, Memory does not include its values, trees and
	// tables, which are on the GPUs alone.
	Device       int64 `json:"device_memory_bytes"`
	DeviceBeside int64 `json:"device_beside_weights_bytes"`
	// DeviceShort says that a GPU has less memory free than Device, or that DeviceBeside exceeds the budget.
	DeviceShort bool `json:"device_short"`
	// Commit and Prove are seconds of elapsed time if all cores work.
	Commit float64 `json:"commit_seconds"`
	Prove  float64 `json:"prove_seconds"`
}

// Estimate estimates the commitment to the circuit and the proof of its run on an input. commit and prove are the options
// that Commit and Prove will get; they may be nil.
func (c *Circuit) Estimate(in Input, commit *CommitOptions, prove *ProveOptions) (*Estimate, error) {
	return c.EstimateTexts([]Input{in}, commit, prove)
}

// planBefore returns the plan of a proof with these options before there is a key. Like planOf, it states the likeliest
// tokens in place of logits if the options and the range of the logits allow it.
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

// Memory in bytes of the things that an estimate counts.
const (
	programBytes = 20 << 20 // code, and what a small circuit takes
	// columnBytes is the memory of one column of a tree while the tree is made
	// (whir.Commit), its digests included. rowBytes is the memory of one value of the
	// opening's longest row, once all variables that number rows are bound; at that point
	// as much again has been dropped and may not be collected yet.
	columnBytes = 208
	rowBytes    = 240
	// openedBytes is the memory of one value of the witness in an opening that keeps its
	// rows; weights are counted with the memory that they have anyway. tableBytes is the
	// memory of one value of the opening's two tables once four variables are bound: two
	// elements of 16 bytes for 2^4 values.
	openedBytes = 2
	tableBytes  = 2 * 16 >> 4
	// keeper is the memory that a limit keeps free: it drops pages of files before the last bytes are taken.
	keeper = 160 << 20
	// pinnedBytes is the pinned memory through which data goes to and from a GPU: 16 MB for each of its queues.
	pinnedBytes = (defaultStreams + 1) * 16 << 20
	// smallBytes is the memory of a value or look-up key that a GPU leaves to the host, once in the form that the device has and once as an
	// integer. outputBytes is the additional memory of a value of an output.
	smallBytes, outputBytes = 8, 12
)

// estimate estimates a proof with plan p of the circuit in the size of q, with these options.
func (c *Circuit) estimate(o *ProveOptions, q *quantise.Model, p *plan.Plan) *Estimate {
	e := c.estimateOnHost(o.Workers, q, p)
	t := orProcessor(o.Device).set().Takes(p)
	if t.Whole {
		c.besideDevice(e, t.Threshold, o.Resume, q, p)
	}
	e.Device, e.DeviceBeside, e.DeviceShort = t.Peak, t.Beside, !t.Fits()
	return e
}

// besideDevice replaces the memory of an estimate by what the process takes if a GPU makes the whole proof: values and look-up keys of
// tensors with fewer than threshold entries, outputs, keys and values that a segment passes on, and the digests of the trees of weights.
// If resume is set, the digests of all trees are kept on the host.
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
	// Bound of prover/math/arena keeps a sixteenth of the limit free as a margin.
	e.Least = (programBytes + keeper + pinnedBytes + digests + max(values, c.floats)) / 15 * 16
}

// bytesOf returns the memory of all weights.
func bytesOf(weights model.Weights) (n int64) {
	for _, v := range weights {
		if v != nil {
			n += int64(v.Len()) * int64(v.Width())
		}
	}
	return n
}

// estimateOnHost returns the estimate if the processor does all the work and proves `workers` chunks at once (0: 1).
func (c *Circuit) estimateOnHost(workers int, q *quantise.Model, p *plan.Plan) *Estimate {
	var fixed, witness int // numbers of entries of weights and of values
	weights := bytesOf(q.Weights)
	var widest int64 // entries of the largest virtual tensor or accumulator
	for i := range q.Graph.Tensors {
		switch t := &q.Graph.Tensors[i]; t.Kind {
		case model.Fixed:
			fixed += model.Size(t.Shape)
		case model.Witness:
			witness += model.Size(t.Shape)
		case model.Virtual:
			if t.Product != nil { // a virtual product is never stored
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
			values += 4 * n // look-up keys
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
	// Accumulators and virtual tensors are made during the run and dropped again.
	run := 24 * widest
	// The garbage collector lets its memory grow to twice what is in use: hence 2·values. All
	// that is made after the commitment is in arenas. The columns of the commitment are
	// dropped before that but may not be collected yet, so arenas come on top of them.
	e.Beside = 2*values + digests + commit + max(run, task, opened+tables+2*row)
	e.Memory = programBytes + c.mapped + max(2*weights+e.Beside, c.floats)
	// Bound of prover/math/arena keeps a sixteenth of the limit free as a margin.
	e.Least = (programBytes + keeper + digests + max(run, commit, row, c.floats)) / 15 * 16
	return e
}

// estimateUnit estimates a commitment, and returns its plan. The circuit has the least size of each free dimension.
func (c *Circuit) estimateUnit(d *Device, sec proof.Security) (_ *Estimate, _ *plan.Plan, err error) {
	defer must.Catch(&err)
	p := must.Get(prover.Plan(c.quantised.Circuit, sec))
	e, err := c.estimatePlan(d, p)
	return e, p, err
}

// estimatePlan estimates the commitment with plan p.
func (c *Circuit) estimatePlan(d *Device, p *plan.Plan) (_ *Estimate, err error) {
	defer must.Catch(&err)
	q := must.Get(c.quantised.At(p.Graph.Instance))
	return c.estimate(&ProveOptions{Device: d}, q, p), nil
}

package provemodel

import (
	"runtime"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/protocol/whir"
	"github.com/prove-model/prove-model/prover/prover"
	"github.com/prove-model/prove-model/quantise"
)

// Estimate is what committing to a circuit and proving a run of it take: memory within a
// factor of two (docs/scale.md), time within three on the cores of docs/benchmarks.md.
type Estimate struct {
	// Memory is what the process takes at most, if nothing limits it. Of that, Beside is
	// what the proof takes beside the weights and the files of the model.
	Memory int64 `json:"memory_bytes"`
	Beside int64 `json:"beside_weights_bytes"`
	// Least is the least limit (LimitMemory) that will do.
	Least int64 `json:"least_memory_bytes"`
	// Device is what is taken of a GPU at most, 0 without one.
	Device int64 `json:"device_memory_bytes"`
	// Commit and Prove are seconds of all cores together.
	Commit float64 `json:"commit_seconds"`
	Prove  float64 `json:"prove_seconds"`
}

// Estimate estimates the commitment to the circuit and a proof of its run on an input, with the options that Commit and Prove
// get, which may be nil.
func (c *Circuit) Estimate(in Input, commit *CommitOptions, prove *ProveOptions) (*Estimate, error) {
	sec, err := orDefault(commit).security()
	if err != nil {
		return nil, err
	}
	o := orDefault(prove)
	if err := o.validate(); err != nil {
		return nil, err
	}
	q, err := c.sized(in)
	if err != nil {
		return nil, err
	}
	p, err := plan.New(q.Graph, sec.Config())
	if err != nil {
		return nil, err
	}
	return c.estimate(orProcessor(o.Device), o.Workers, q, p), nil
}

// Processor seconds of an entry, on the two x86-64 cores of docs/benchmarks.md: a weight
// that is quantised and committed to, from the commitments of SmolLM2-135M and of the
// perceptron of 67 million weights; a weight and an entry of the witness in the opening,
// and the latter in the rest of a proof, from the proof of SmolLM2-135M in w8a8: 164
// million weights, 28 million entries, 8.4 s and 7.6 s.
const (
	commitWeight = 120e-9
	openEntry    = 44e-9
	proveEntry   = 270e-9
)

// ProcessorTime is the seconds that committing to so many weights and proving a run with
// so many committed entries take, of all cores together.
func ProcessorTime(weights, witness int) (commit, prove float64) {
	return commitWeight * float64(weights), openEntry*float64(weights+witness) + proveEntry*float64(witness)
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
)

// estimate is that of a plan of the circuit in the size of q, with so many workers.
func (c *Circuit) estimate(d *Device, workers int, q *quantise.Model, p *plan.Plan) *Estimate {
	var weights, values int64 // bytes
	var fixed, witness int    // entries
	for _, v := range q.Weights {
		if v != nil {
			weights += int64(v.Len()) * int64(v.Width())
		}
	}
	var widest int64 // entries of a tensor that is made when it is wanted, or an accumulator
	for i := range q.Graph.Tensors {
		switch t := &q.Graph.Tensors[i]; t.Kind {
		case model.Fixed:
			fixed += model.Size(t.Shape)
		case model.Witness:
			witness += model.Size(t.Shape)
		case model.Virtual:
			widest = max(widest, int64(model.Size(t.Shape)))
		}
	}
	values = 4 * int64(witness)
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
	e.Commit, e.Prove = ProcessorTime(fixed, witness)
	cores := float64(runtime.GOMAXPROCS(0))
	e.Commit, e.Prove = e.Commit/cores, e.Prove/cores
	// What is made while a run goes on, and dropped: accumulators and virtual tensors.
	run := 24 * widest
	// The collector lets what it has become twice as much. Arenas have what follows the
	// commitment, whose columns are dropped and not yet collected then.
	e.Beside = 2*values + digests + commit + max(run, task, opened+tables+2*row)
	e.Memory = programBytes + c.mapped + max(2*weights+e.Beside, c.floats)
	e.Least = (programBytes + keeper + digests + max(run, commit, row, c.floats)) / 15 * 16
	if g := d.first(); g != nil {
		e.Device = g.settle(p, 1).Peak()
	}
	return e
}

// estimateUnit is the estimate of a commitment, with the least sizes.
func (c *Circuit) estimateUnit(d *Device, sec proof.Security) (*Estimate, *plan.Plan, error) {
	p, err := prover.Plan(c.quantised.Circuit, sec)
	if err != nil {
		return nil, nil, err
	}
	q, err := c.quantised.At(p.Graph.Instance)
	if err != nil {
		return nil, nil, err
	}
	return c.estimate(d, 1, q, p), p, nil
}

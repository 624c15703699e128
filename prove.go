package provemodel

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/prove-model/prove-model/internal/devices"
	"github.com/prove-model/prove-model/internal/hiding"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/ledger"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/prover"
	"github.com/prove-model/prove-model/quantise"
)

// Proof is a proof, with what is known about the run that it proves.
type Proof struct {
	Run
	// File is the encoded proof, which Verify reads.
	File     []byte
	Strength soundness.Strength // proven bits, and what proofs of work add
	// Resumed is the number of parts of the proof that were taken from an earlier, interrupted call (ProveOptions.Resume).
	Resumed int
}

// ErrSelfCheck is wrapped by the error of Prove if the proof that it made does not
// verify. That is a fault of this package, or of the machine.
var ErrSelfCheck = errors.New("the proof just made does not verify")

// ProveOptions say how a proof is made, and which runs may be proved. How a proof is made changes none of its bytes. With the
// zero value, or nil, any run is proved, on the processor.
type ProveOptions struct {
	Observer Observer // is told how the work goes, unless nil
	Device   *Device  // nil: the processor
	// CacheDir is a folder (UserCacheDir) for data that does not fit into memory (MemoryBudget), and for Resume. If it is
	// "", the former goes to UserCacheDir, and Resume is not possible.
	CacheDir string
	// MemoryBudget is the memory in bytes that a proof may take on the processor beside the weights, including its forward pass;
	// 0 is no bound. Data that does not fit is put into files, as by LimitMemory, and the limit holds for the whole process while
	// the proof is made. The size of a chunk depends on the circuit alone; the budget, or 8 GB without one, decides how many
	// chunks are proved at once. A chunk that exceeds the budget by itself is proved, with a warning.
	MemoryBudget int64
	// Workers is the greatest number of chunks that are proved at once on the processor; fewer are if the budget is too small. 0
	// is 1, since a single chunk uses all cores most of the time.
	Workers int
	// Resume stores intermediate results of a long proof in CacheDir until the proof is made. If the proof is interrupted, the
	// next call with the same key, the same input and the same build of the program continues from them.
	Resume bool
	// Sampling, if not nil, is the rule by which the tokens of a language model were drawn (GenerateOptions).
	Sampling *Sampling
	// Reveal names outputs of which the proof does not state the entries. Instead it states, for every row along the output's last
	// axis, the indexes of the greatest entries. The number says how many of them, in order; of equal entries the one with the
	// lower index comes first, and the last axis has so many indexes. The number 0 stands for the single greatest entry; the
	// result then lacks the last axis.
	Reveal map[string]int
	// HideInputs and HideOutputs name inputs and outputs that the proof does not state. "" stands for all inputs, or for all outputs
	// except those of Reveal, whose entries are hidden anyway. The proof is then masked. It says that there are inputs in their ranges
	// for which the model gives the stated values, and nothing else about hidden inputs or about values inside of the model beyond what
	// follows from that and from the key. See docs/hiding.md.
	HideInputs, HideOutputs []string
	// InputCommitments has, by the names of hidden inputs, the files of commitments to them (Committed.CommitInput). "" stands for the only
	// hidden input. The secret of each commitment is in a file beside it. The proof shows the commitment, and proves that the hidden input
	// is the one that was committed to.
	InputCommitments map[string]string
	// Logits makes the proof of a generated text state the logits at every position. Without Logits and Sampling, the
	// proof states which tokens have the greatest logits, if the range of the circuit's logits allows that.
	Logits bool
	// Pass, if not nil, has the values that Generate computed for this run. Prove continues from them if the processor
	// runs the circuit.
	Pass *Pass
	// MaxError, if positive, is the largest Accuracy.RangeError that an output of the run may have. A run that is further off
	// is not proved; the error is an *AccuracyError. Float has the outputs of the float model on the same input (Model.Run).
	MaxError float64
	Float    []Tensor
	// Together, if not nil, shares independent parts of the proof with other processes, which prove them with Committed.Help.
	Together prover.Together
	// Share is for a key that hides weights (CommitOptions.Hide), whose secret has a ledger of what proofs have opened. An old copy
	// of the ledger would not know of later proofs. Therefore, if Share is not set, a ledger is refused if it was last used on
	// another machine, before this machine was restarted, or in another file. Share 1 of 1 says that the ledger is up to date and
	// no other copy is used. Share 1 of 4 divides the rest of the budget by four, in the place where the ledger was used last;
	// copies that are made after that are used with the shares 2, 3 and 4 of 4, each in one place. Errors about shares wrap
	// ledger.ErrMoved or ledger.ErrShare; the error about a key that is used up wraps ledger.ErrUsedUp.
	Share ledger.Share
	// NoSelfCheck skips the verification of the new proof. A proof that was resumed, or that is of a segment, is verified
	// all the same.
	NoSelfCheck bool

	resumeFrom uint64 // least number of committed witness entries for Resume to store results, for tests; 0: longProof
	runs       int    // number of proofs whose values are on a device at the same time; 0: 1
}

// validate refuses options that contradict each other or are out of range.
func (o *ProveOptions) validate() error {
	switch {
	case !(o.MaxError >= 0):
		return fmt.Errorf("MaxError is %v: want a fraction of the range, or 0 for none", o.MaxError)
	case o.MaxError == 0 && o.Float != nil:
		return errors.New("option Float has outputs of the float model, and MaxError does not say how far from them a run may be")
	case len(o.Reveal) > 0 && (o.Sampling != nil || o.Logits):
		return errors.New("option Reveal states no logits, and options Sampling and Logits do")
	case o.Share != ledger.Share{} && !o.Share.Valid():
		return fmt.Errorf("option Share is %s: want a number of so many, 1 of 1 for all, or nothing for what was before", o.Share)
	case o.Resume && o.CacheDir == "":
		return errors.New("option Resume keeps its results in CacheDir, which is empty")
	case o.Sampling != nil:
		if err := o.Sampling.Validate(); err != nil {
			return err
		}
	}
	return checkShare(o.MemoryBudget, o.Workers)
}

// checkHiding refuses options that masked proofs cannot have.
func (o *ProveOptions) checkHiding() error {
	if o.Resume {
		return errors.New("proofs that hide something are not resumed, as their masks are made anew each time: option Resume is for others")
	}
	if o.Together != nil {
		return errTogether
	}
	return nil
}

var errTogether = errors.New("proofs that hide something are made by one process: the parts of their masks are nobody else's")

// hides says whether inputs or outputs are to be hidden.
func (o *ProveOptions) hides() bool { return len(o.HideInputs)+len(o.HideOutputs) > 0 }

// share returns how much of the processor a proof may use.
func (o *ProveOptions) share() devices.Share {
	return devices.Share{Memory: o.MemoryBudget, Workers: o.Workers}
}

// bar returns how far a run may be from the float model; nil if that does not matter.
func (o *ProveOptions) bar() *bar {
	if o.MaxError == 0 {
		return nil
	}
	return &bar{o.MaxError, o.Float}
}

// Prove runs a committed circuit on an input, proves the run, and verifies the proof.
// If the circuit's batch is free, the input may hold a batch of any size up to its
// bound. The proof has the same bytes on every machine and device, unless it is masked.
// If the context ends, Prove returns its error at once. opts may be nil.
func Prove(ctx context.Context, c *Committed, in Input, opts *ProveOptions) (*Proof, error) {
	return c.proveInputs(ctx, orDefault(opts), []Input{in})
}

// ProveTexts makes one proof of several texts, at most 1024, of different lengths. The proof states for each text what the model computes
// from that text alone. It costs less than a proof for each text, since the weights are opened once. The circuit must be for texts of any
// length. For a model that writes, each input is one that Generate or TextInput returned. Texts of other models, and of encoder–decoders,
// must all have the same length. MaxError, Float and Pass belong to a single run and must not be set.
func ProveTexts(ctx context.Context, c *Committed, texts []Input, opts *ProveOptions) (*Proof, error) {
	o := orDefault(opts)
	switch {
	case len(texts) < 2:
		return nil, fmt.Errorf("%d texts: Prove proves one, and ProveTexts several", len(texts))
	case o.MaxError != 0 || o.Pass != nil:
		return nil, errors.New("options MaxError, Float and Pass are of one run, and ProveTexts proves several texts at once")
	}
	return c.proveInputs(ctx, o, texts)
}

// proveInputs makes one proof of one input, or of several texts.
func (c *Committed) proveInputs(ctx context.Context, o *ProveOptions, in []Input) (_ *Proof, err error) {
	defer must.Catch(&err)
	must.OK(o.validate())
	w := newWatch(o.Observer)
	defer w.stop()
	in = must.Get(c.coarse(o, in))
	r := must.Get(c.of(o, w, 1, in...))
	release := must.Get(o.bounded(c.circuit.estimate(o, r.model, r.plan), w))
	defer release()
	defer r.close()
	must.OK(r.forward(ctx, in[0]))
	return r.prove(ctx)
}

// proving is a proof that is being made.
type proving struct {
	*Committed
	o      *ProveOptions
	device *Device
	w      *watch
	model  *quantise.Model // in the size of the input
	plan   *plan.Plan      // of the circuit, extended by the steps that Reveal and hidden inputs need
	run    *Run
	wit    *forward.Witness

	inputs  []committedInput
	segment *ofSegment // nil if the proof is not of a segment
	ints    [][]int32  // the quantised input; of several texts one after the other
	clamped int        // how many entries of the input were clamped
}

// of begins the proof of a run on an input, or on several texts. It returns an error if the run cannot be proved, if
// memory does not suffice, or if a secret does not allow n proofs like this one.
func (c *Committed) of(o *ProveOptions, w *watch, n int, in ...Input) (_ *proving, err error) {
	defer must.Catch(&err)
	q, ints, clamped, err := c.circuit.rounded(in)
	must.OK(err)
	must.OK(c.circuit.roomForTexts(o, q.Graph, len(in)))
	must.OKAs(c.key.CheckStatement(&q.Graph.Instance, ints), "no proof of this input is valid")
	p, inputs, err := c.planned(o, q)
	must.OK(err)
	if p.Pads != nil {
		must.OK(o.checkHiding())
	}
	must.OK(c.hiding.Ready(p, o.Share, n))
	for i := range inputs {
		must.OK(inputs[i].Ready(p, o.Share, n))
	}
	d := orProcessor(o.Device)
	must.OK(c.circuit.estimate(o, q, p).within())
	return &proving{Committed: c, o: o, device: d, w: w, model: q, plan: p, inputs: inputs, ints: ints, clamped: clamped}, nil
}

// planned returns the plan of a proof with these options, and the hidden inputs that were committed to.
func (c *Committed) planned(o *ProveOptions, q *quantise.Model) (_ *plan.Plan, _ []committedInput, err error) {
	defer must.Catch(&err)
	in := q.Graph.Instance
	must.OK(c.state(o, q, &in))
	inputs := must.Get(o.committed(q, &in))
	p, err := c.planOf(o, in)
	return p, inputs, err
}

// state sets in an instance which outputs are revealed and which inputs and outputs are hidden.
func (c *Committed) state(o *ProveOptions, q *quantise.Model, in *model.Instance) error {
	for name, top := range o.Reveal {
		at := slices.IndexFunc(c.circuit.outputs, func(s Spec) bool { return s.Name == name })
		if at < 0 {
			return fmt.Errorf("option Reveal: the model has no output %q", name)
		}
		in.Reveals = append(in.Reveals, model.Reveal{Output: at, Top: top})
	}
	slices.SortFunc(in.Reveals, func(a, b model.Reveal) int { return cmp.Compare(a.Output, b.Output) })
	return c.hide(o, q, in)
}

// committedInput is a commitment to a hidden input of the model.
type committedInput struct {
	*hiding.Input
	at    int // index among the model's inputs
	finer int // by how many fractional bits the model's input is finer than the commitment
}

// values converts entries of the model's input to the units of the commitment. coarse has made them multiples of
// 2^finer, so nothing is lost.
func (c *committedInput) values(v []int32) []int32 {
	v = slices.Clone(v)
	for i := range v {
		v[i] >>= c.finer
	}
	return v
}

// coarse rounds each input that was committed to in coarser units than the model's to the units of the commitment, so
// that the model reads the committed values.
func (c *Committed) coarse(o *ProveOptions, in []Input) (_ []Input, err error) {
	defer must.Catch(&err)
	if len(o.InputCommitments) == 0 || len(in) != 1 {
		return in, nil
	}
	q, _, _, err := c.circuit.rounded(in)
	must.OK(err)
	i := q.Graph.Instance
	must.OK(c.state(o, q, &i))
	inputs := must.Get(o.committed(q, &i))
	own := slices.Clone(in[0])
	for _, of := range inputs {
		t, _, ok := q.Graph.Tensors[q.Graph.Inputs[of.at]].Coarse(of.Frac)
		if !ok || of.finer == 0 {
			continue // planned reports the error
		}
		one := &model.Graph{Tensors: []model.Tensor{t}, Inputs: []model.TensorID{0}}
		ints, _, err := one.RoundInputs([][]float64{own[of.at]})
		must.OK(err)
		own[of.at] = t.Reals(ints[0])
	}
	return []Input{own}, nil
}

// committed reads the commitments to hidden inputs, with their secrets, and puts the commitments into an instance.
func (o *ProveOptions) committed(q *quantise.Model, in *model.Instance) (list []committedInput, err error) {
	defer must.Catch(&err)
	name := func(at int) string { return q.Graph.Tensors[q.Graph.Inputs[at]].Name }
	for of := range o.InputCommitments {
		switch at := slices.IndexFunc(in.HiddenInputs, func(at int) bool { return name(at) == of }); {
		case of == "" && len(in.HiddenInputs) != 1:
			return nil, fmt.Errorf("option InputCommitments: %d inputs are hidden: say by name which was committed to", len(in.HiddenInputs))
		case of != "" && at < 0:
			return nil, fmt.Errorf("option InputCommitments: no input %q is hidden (HideInputs)", of)
		}
	}
	for _, at := range in.HiddenInputs {
		file, ok := o.InputCommitments[name(at)]
		if !ok {
			if file, ok = o.InputCommitments[""]; !ok {
				continue
			}
		}
		c := must.GetAs(hiding.OpenInput(file))("option InputCommitments")
		t := &q.Graph.Tensors[q.Graph.Inputs[at]]
		if !slices.Equal(t.Shape, c.Shape) {
			return nil, fmt.Errorf("option InputCommitments: %s is of an input of shape %v, and %q has %v", file, c.Shape, t.Name, t.Shape)
		}
		list = append(list, committedInput{c, at, max(0, t.Frac-c.Frac)})
		s := c.Options(nil)
		in.Committed = append(in.Committed, s.Of(at))
	}
	return list, nil
}

// planOf returns the plan of a proof of an instance, masked if the options hide something.
func (c *Committed) planOf(o *ProveOptions, in model.Instance) (*plan.Plan, error) {
	if o.hides() && c.hiding == nil { // masked also if all outputs of HideOutputs are in Reveal, which hides them anyway
		return c.key.HidingPlan(in, plan.CheapestTails)
	}
	if c.circuit.statesTokens(o) {
		if p, err := c.key.Plan(c.circuit.asTokens(in)); err == nil || !errors.Is(err, model.ErrReveal) {
			return p, err
		}
	}
	return c.key.Plan(in)
}

// statesTokens says whether these options ask for a proof that states the likeliest tokens in place of logits. Whether the range of
// the logits allows such a proof, its plan shows.
func (c *Circuit) statesTokens(o *ProveOptions) bool {
	return c.language != nil && c.language.Generates && len(o.Reveal) == 0 && o.Sampling == nil && !o.Logits
}

// asTokens returns the instance with the likeliest tokens stated in place of logits.
func (c *Circuit) asTokens(in model.Instance) model.Instance {
	in.Reveals = []model.Reveal{{Output: 0, Top: c.language.Likeliest()}}
	return in
}

// hide puts the places of hidden inputs and outputs into an instance.
func (c *Committed) hide(o *ProveOptions, q *quantise.Model, in *model.Instance) (err error) {
	defer must.Catch(&err)
	inputs := make([]string, len(q.Graph.Inputs))
	entries := func(id model.TensorID) bool { return q.Graph.Tensors[id].Kind != model.Empty }
	for i, id := range q.Graph.Inputs {
		inputs[i] = q.Graph.Tensors[id].Name
	}
	outputs := seq.Map(c.circuit.outputs, func(s Spec) string { return s.Name })
	in.HiddenInputs = must.GetAs(places(o.HideInputs, inputs, func(i int) bool { return entries(q.Graph.Inputs[i]) }))("option HideInputs")
	in.HiddenOutputs = must.GetAs(places(o.HideOutputs, outputs, func(i int) bool {
		return entries(q.Graph.Outputs[i]) && !slices.ContainsFunc(in.Reveals, func(r model.Reveal) bool { return r.Output == i })
	}))("option HideOutputs")
	return nil
}

// places returns the indexes of the named ones in a list, in increasing order. The name "" stands for all whose index
// satisfies may; others are never returned.
func places(names, all []string, may func(i int) bool) (list []int, err error) {
	for _, name := range names {
		if name != "" && !slices.Contains(all, name) {
			return nil, fmt.Errorf("the model has no %q, but %q", name, all)
		}
	}
	for i, name := range all {
		if (slices.Contains(names, "") || slices.Contains(names, name)) && may(i) {
			list = append(list, i)
		}
	}
	return list, nil
}

// restate extends the run by the values that a proof needs if it reveals or hides something: which entries are the greatest, that
// no other entries are greater, and that hidden inputs are in their ranges.
func (r *proving) restate(ctx context.Context) (err error) {
	defer must.Catch(&err)
	g := r.plan.Graph
	if len(g.Reveals) == 0 && !g.Instance.Hides() {
		return nil
	}
	run := r.wit
	r.wit = nil
	var wit *forward.Witness
	must.OK(await(ctx, func() (err error) {
		wit, err = forward.Restate(ctx, r.device.set().Machine(r.o.share(), r.plan, r.w.warn), run, g)
		return err
	}))
	r.wit = wit
	return r.device.set().Kept(r.wit, r.w.warn)
}

// forward runs the circuit on the input, and checks that the run may be proved: its tokens follow from its logits, and
// it is close enough to the float model.
func (r *proving) forward(ctx context.Context, in Input) (err error) {
	defer must.Catch(&err)
	r.device.set().Reserve(r.plan, max(r.o.runs, 1), r.w.warn)
	r.device.set().Foresee(r.o.share(), r.plan, r.w.warn)
	var run *Run
	var wit *forward.Witness
	pass := r.o.Pass.of(r.circuit, in)
	must.OK(r.w.run(ctx, phaseRun, func() (err error) {
		if wit = pass; wit == nil {
			g := r.model.Graph
			wit, err = forward.RunOn(ctx, r.device.set().Machine(r.o.share(), r.plan, r.w.warn), g, r.model.Weights, r.segment.behind(g.Widen(r.ints, nil, true)))
		}
		if err == nil {
			run = r.circuit.readRounded(r.model, r.ints, r.clamped, wit)
		}
		return err
	}))
	r.run, r.wit = run, wit
	must.OK(r.device.set().Kept(r.wit, r.w.warn))
	must.OK(r.circuit.checkGenerated(r.model.Graph, r.wit, r.o.Sampling))
	must.OK(r.o.bar().check(run))
	must.OK(r.restate(ctx))
	return r.circuit.checkLikeliest(r.plan.Graph, r.wit)
}

// close releases the run's values if prove has not taken them over.
func (r *proving) close() {
	if r.wit != nil {
		r.wit.Close()
	}
}

// prove proves the run, and verifies the proof.
func (r *proving) prove(ctx context.Context) (*Proof, error) {
	kept := r.o.results(r.w, r.Committed, r.plan, r.wit)
	var file bytes.Buffer
	var stats *prover.Stats
	wit := r.wit
	r.wit = nil // the prover owns it from here on, and may use it for a while after the context has ended
	err := await(ctx, func() (err error) {
		defer wit.Close() // only after the prover has stopped
		opts := r.device.prover(r.o.share(), r.w)
		if kept != nil {
			opts.Results = kept
		}
		opts.Together, opts.Segment = r.o.Together, r.segment.follows()
		if opts.Hiding = r.hiding.Options(); opts.Hiding == nil && r.plan.Pads != nil {
			opts.Hiding = &prover.Hiding{TailLog: r.plan.Choice.TailLog}
		}
		for _, c := range r.inputs {
			opts.Hiding.Inputs = append(opts.Hiding.Inputs, c.Options(c.values(r.ints[c.at])))
		}
		stats, err = prover.Prove(ctx, r.key, r.plan.Graph.Instance, r.trees, wit.Final(), &file, opts)
		return err
	})
	r.w.end(err)
	if err != nil {
		kept.end(false)
		return nil, err
	}
	// Results of an interrupted run come from disk and may be damaged. So a proof that uses some is
	// always verified, and if it does not verify the results are removed.
	if !r.o.NoSelfCheck || stats.Resumed > 0 || r.segment != nil {
		if err := r.w.run(ctx, phaseCheck, func() error { return r.verify(file.Bytes()) }); err != nil {
			kept.end(ctx.Err() == nil)
			switch {
			case ctx.Err() != nil:
				return nil, err
			case stats.Resumed > 0:
				return nil, fmt.Errorf("%w, with what an interrupted run had left, which is removed: %w", ErrSelfCheck, err)
			}
			return nil, fmt.Errorf("%w: %w", ErrSelfCheck, err)
		}
	}
	kept.end(true)
	return &Proof{Run: *r.run, File: file.Bytes(), Strength: stats.Strength, Resumed: stats.Resumed}, nil
}

// Help proves parts of a proof that another process makes with ProveOptions.Together, of the same circuit and input, with the same
// options. roots are the bytes that the other process gave to its Together. Help calls next to get the number of a part to prove, and
// passes it the bytes of the part that was proved last, with its number; on the first call of a goroutine the number is −1. A negative
// result ends the work. Several goroutines call next at the same time. Help does not verify the parts: the other process does. opts may
// be nil; its Together is not used.
func (c *Committed) Help(ctx context.Context, in Input, roots []byte, opts *ProveOptions, next func(ctx context.Context, part int, bytes []byte) (int, error)) (err error) {
	defer must.Catch(&err)
	o := orDefault(opts)
	must.OK(o.validate())
	w := newWatch(o.Observer)
	defer w.stop()
	if c.hiding != nil || o.hides() {
		return errTogether
	}
	r := must.Get(c.of(o, w, 1, in))
	release := must.Get(o.bounded(c.circuit.estimate(o, r.model, r.plan), w))
	defer release()
	defer r.close()
	must.OK(r.forward(ctx, in))
	wit := r.wit
	r.wit = nil // the prover owns it from here on, as in prove
	return await(ctx, func() error {
		defer wit.Close()
		return prover.Help(ctx, r.key, r.plan.Graph.Instance, roots, wit.Final(), r.device.prover(r.o.share(), r.w), next)
	})
}

// follow returns a function that reports the prover's progress as phases of w.
func (w *watch) follow() func(p prover.Phase, done, total int) {
	var phase prover.Phase
	return func(p prover.Phase, done, total int) {
		if p != phase {
			phase = p
			w.begin(Phase(p))
		}
		w.progress(done, total)
	}
}

// ProveEach makes one proof for each of several inputs. The proofs are those that Prove makes,
// in the order of the inputs. They share the device and its scheduler. The forward pass of a
// run overlaps with the proof of the run before it, so two runs are in memory at the same time;
// on a GPU two proofs are also made at the same time. floats has the float model's outputs on
// each input, or is nil if MaxError is not set. Float and Pass of the options belong to a
// single run and must not be set. opts may be nil.
//
// The observer is told of one phase, "prove inputs", whose progress counts proofs. If a proof
// fails, the others are stopped. The error wraps that proof's error and names its input,
// counted from 1.
func (c *Committed) ProveEach(ctx context.Context, inputs []Input, floats [][]Tensor, opts *ProveOptions) (_ []*Proof, err error) {
	defer must.Catch(&err)
	o := orDefault(opts)
	switch {
	case o.Float != nil || o.Pass != nil:
		return nil, errors.New("options Float and Pass are of one run, and ProveEach proves several")
	case o.MaxError == 0 && floats != nil:
		return nil, errors.New("there are outputs of the float model, and MaxError does not say how far from them a run may be")
	case o.MaxError != 0 && len(floats) != len(inputs):
		return nil, fmt.Errorf("MaxError needs the float model's outputs on each of %d inputs, and there are %d", len(inputs), len(floats))
	}
	must.OK(o.validate())
	w := newWatch(o.Observer)
	defer w.stop()
	if len(inputs) == 0 {
		return nil, nil
	}
	all := *o
	all.Device = orProcessor(o.Device)
	o, device := &all, all.Device
	first := must.GetAs(c.of(o, w, len(inputs), inputs[0]))("input 1")
	release := must.Get(o.bounded(c.circuit.estimate(o, first.model, first.plan), w))
	defer release()
	proofs := make([]*Proof, len(inputs))
	w.begin(phaseEach)
	err = overlap(ctx, len(inputs), device.provers(), func(ctx context.Context, i int, prove func(func() error) error) error {
		mine := *o
		mine.runs = min(len(inputs), device.provers()+1)
		if floats != nil {
			mine.Float = floats[i]
		}
		quiet := newWatch(warnings{w})
		defer quiet.stop()
		r, err := c.of(&mine, quiet, 1, inputs[i])
		if err != nil {
			return err
		}
		defer r.close()
		if err := r.forward(ctx, inputs[i]); err != nil {
			return err
		}
		return prove(func() (err error) {
			proofs[i], err = r.prove(ctx)
			return err
		})
	}, func(done int) { w.progress(done, len(inputs)) })
	w.end(err)
	must.OK(err)
	return proofs, nil
}

// overlap calls f for each index below n, in order, with a function prove. Until a call of f
// calls prove, no other call of f begins; when prove starts its argument, the next call of f
// may begin. At most `provers` arguments run at once. The first error cancels the context of
// the other calls and is returned. done is called after each successful call, with the number
// of successful calls so far.
func overlap(ctx context.Context, n, provers int, f func(ctx context.Context, i int, prove func(func() error) error) error, done func(int)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	turn, slots := make(chan int, 1), make(chan struct{}, provers)
	turn <- 0
	var wg sync.WaitGroup
	var mu sync.Mutex
	finished := 0
	call := func(i int) {
		next := sync.OnceFunc(func() { turn <- i + 1 })
		defer next() // if f fails before prove, after cancel: the next goroutine then sees that the context has ended
		err := f(ctx, i, func(prove func() error) error {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return ctx.Err()
			}
			defer func() { <-slots }()
			next()
			return prove()
		})
		if err != nil {
			cancel(fmt.Errorf("input %d: %w", i+1, err))
			return
		}
		mu.Lock()
		defer mu.Unlock()
		finished++
		done(finished)
	}
	for range min(n, provers+1) {
		wg.Go(func() {
			for {
				i := <-turn
				if i >= n || ctx.Err() != nil {
					turn <- n
					return
				}
				call(i)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// warnings is an Observer that passes on warnings and drops the rest.
type warnings struct{ w *watch }

func (warnings) Begin(Phase)       {}
func (warnings) Progress(int, int) {}
func (warnings) End(error)         {}

// Warn implements Observer.
func (o warnings) Warn(message string) { o.w.warn("%s", message) }

// rounded quantises an input: it returns the model in the size of the input, the input's integers, and how many entries were
// clamped. Several texts are padded to the length of the longest; the model is then for as many texts, and the integers of the
// texts follow each other.
func (c *Circuit) rounded(in []Input) (q *quantise.Model, ints [][]int32, clamped int, err error) {
	defer must.Catch(&err)
	if len(in) == 1 {
		q = must.Get(c.sized(in[0]))
		ints, clamped, err = q.QuantiseInput(in[0])
		return q, ints, clamped, err
	}
	in = must.Get(c.alike(in))
	one := must.Get(c.sized(in[0]))
	ints = make([][]int32, len(in[0]))
	for i, text := range in {
		own, n, err := one.QuantiseInput(text)
		must.OKAs(err, "text %d", i+1)
		for k := range ints {
			ints[k] = append(ints[k], own[k]...)
		}
		clamped += n
	}
	q, err = c.sizedFor(in[0], len(in))
	return q, ints, clamped, err
}

// roomForTexts returns an error if the outputs of n texts together have more entries than a proof may state or, for an output of which
// the greatest entries are stated, more than a proof can compare.
func (c *Circuit) roomForTexts(o *ProveOptions, g *model.Graph, n int) error {
	if n == 1 {
		return nil
	}
	for _, id := range g.Outputs {
		t := &g.Tensors[id]
		if len(t.Shape) == 0 {
			continue
		}
		last := len(t.Shape) - 1
		most, what := plan.MaxPublic/t.Shape[last], "states"
		if _, ok := o.Reveal[t.Name]; ok || c.statesTokens(o) {
			most, what = model.MaxRevealed>>model.Log2Ceil(t.Shape[last]), "says the greatest of"
		}
		if rows := model.Size(t.Shape[:last]); rows > most {
			return fmt.Errorf("%d texts with %d rows each of output %q, of %d entries: one proof %s at most %d rows, that is %d such texts",
				n, rows/n, t.Name, t.Shape[last], what, most, most*n/rows)
		}
	}
	return nil
}

// alike pads texts to the length of the longest. A text that a model has written is padded by repeating its last token, which
// no earlier token depends on, and the position of its last logits. Texts of other models must have one length.
func (c *Circuit) alike(texts []Input) ([]Input, error) {
	if !c.text || !c.free() {
		return nil, errors.New("several texts in one proof: the circuit is not one for texts of any length")
	}
	writes := c.language != nil && c.language.Generates && c.language.Start == nil // a causal model that reads and writes one text
	if len(texts) > model.MaxTexts {
		return nil, fmt.Errorf("%d texts are more than one proof states, %d", len(texts), model.MaxTexts)
	}
	longest := make([]int, len(c.quantised.Circuit.Graph.Inputs))
	for i, text := range texts {
		if len(text) != len(longest) {
			return nil, fmt.Errorf("text %d: %d inputs, and the model has %d", i+1, len(text), len(longest))
		}
		for k := range text {
			if len(text[k]) == 0 {
				return nil, fmt.Errorf("text %d: input %d has no entries", i+1, k+1)
			}
			if longest[k] = max(longest[k], len(text[k])); len(text[k]) != len(texts[0][k]) && !writes {
				return nil, fmt.Errorf("text %d is longer or shorter than the first: the model does not write (MaxTokens), "+
					"or is an encoder–decoder, so that texts of one proof have one length", i+1)
			}
			if k == 0 && c.refuse != nil {
				if err := c.refuse(text[k]); err != nil {
					return nil, fmt.Errorf("text %d: %w", i+1, err)
				}
			}
		}
	}
	out := make([]Input, len(texts))
	for i, text := range texts {
		for k, values := range text {
			for len(values) < longest[k] {
				values = append(values[:len(values):len(values)], values[len(values)-1])
			}
			out[i] = append(out[i], values)
		}
	}
	return out, nil
}

// OfText returns what a proof of several texts states about one of them, counted from 0, as a statement of that text alone. Its tokens
// and logits are padded to the length of the longest text, by repeating the last ones.
func (s *Statement) OfText(text int) (*Statement, error) {
	if text < 0 || text >= s.Several {
		return nil, fmt.Errorf("text %d of %d", text+1, s.Several)
	}
	one := *s
	one.Several, one.Texts = 0, nil
	one.Inputs, one.Outputs = ofText(s.Inputs, text), ofText(s.Outputs, text)
	if s.Texts != nil {
		one.Generated = s.Texts[text]
	}
	return &one, nil
}

// ofText returns, from tensors of several texts, those of one text: its part along the first axis.
func ofText(list []Tensor, text int) []Tensor {
	own := slices.Clone(list)
	for i := range own {
		t := &own[i]
		t.Shape = t.Shape[1:]
		from, n := text*model.Size(t.Shape), len(t.Values) // FirstValues may have left out values at the end
		t.Values = t.Values[min(from, n):min(from+model.Size(t.Shape), n)]
	}
	return own
}

package provemodel

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/prover"
	"github.com/prove-model/prove-model/quantise"
)

// Strength is what a proof is worth: proven bits, and what proofs of work add.
type Strength = soundness.Strength

// Proof is a proof with what is known about the run that it proves.
type Proof struct {
	Run
	// File is the proof as Verify reads it.
	File     []byte
	Strength Strength
	// Resumed is how many parts of the work an interrupted run had left (Resume).
	Resumed int
}

// ErrSelfCheck is wrapped by the error of Prove when the proof that it made does
// not verify: that is a fault of this package.
var ErrSelfCheck = errors.New("the proof just made does not verify")

// Prove runs a committed circuit on an input, proves the run, and verifies the
// proof. If the circuit's batch is free, the input may hold a batch of any size up
// to its bound. The proof has the same bytes whatever computes it. When the context
// ends, Prove returns its error at once.
func Prove(ctx context.Context, c *Committed, in Input, opts ...Option) (*Proof, error) {
	o := apply(opts)
	w := o.watch()
	defer w.stop()
	r, err := c.of(o, w, in)
	if err != nil {
		return nil, err
	}
	release, err := o.bounded(c.circuit.estimate(o, r.model, r.plan), w)
	if err != nil {
		return nil, err
	}
	defer release()
	defer r.close()
	if err := r.forward(ctx, in); err != nil {
		return nil, err
	}
	return r.prove(ctx)
}

// proving is a proof that is being made.
type proving struct {
	*Committed
	o     *options
	w     *watch
	model *quantise.Model // in the size of the input
	plan  *plan.Plan
	run   *Run
	wit   *forward.Witness
}

// of begins a proof of a run on an input.
func (c *Committed) of(o *options, w *watch, in Input) (*proving, error) {
	q, err := c.circuit.sized(in)
	if err != nil {
		return nil, err
	}
	ints, _, err := q.QuantiseInput(in)
	if err != nil {
		return nil, err
	}
	if err := c.key.CheckStatement(q.Graph.Instance.Sizes, ints); err != nil {
		return nil, fmt.Errorf("no proof of this input is valid: %w", err)
	}
	p, err := c.key.Plan(q.Graph.Instance)
	if err != nil {
		return nil, err
	}
	if err := c.circuit.estimate(o, q, p).within(); err != nil {
		return nil, err
	}
	return &proving{Committed: c, o: o, w: w, model: q, plan: p}, nil
}

// forward runs the circuit.
func (r *proving) forward(ctx context.Context, in Input) error {
	r.o.device.reserve(r.plan, max(r.o.runs, 1), r.w)
	r.o.device.foresee(r.o, r.plan, r.w)
	var run *Run
	var wit *forward.Witness
	pass := r.o.pass.of(r.circuit, in)
	err := r.w.run(ctx, PhaseRun, func() (err error) {
		if pass != nil {
			run, wit, err = r.circuit.read(r.model, in, pass)
			return err
		}
		run, wit, err = r.circuit.run(ctx, r.o.device.machine(r.o, r.plan, r.w), r.model, in)
		return err
	})
	if err != nil {
		return err
	}
	r.run, r.wit = run, wit
	if err := r.o.device.kept(r.wit, r.w); err != nil {
		return err
	}
	if err := r.circuit.checkWritten(r.wit, r.o.sampling); err != nil {
		return err
	}
	return r.o.bar.check(run)
}

// close gives back what the run holds, if it was not proved.
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
	r.wit = nil // the prover's, which may go on with it for a while after the context has ended
	err := await(ctx, func() (err error) {
		defer wit.Close() // not before the prover has stopped
		opts := r.o.device.prover(r.o, r.w)
		if kept != nil {
			opts.Results = kept
		}
		stats, err = prover.Prove(ctx, r.key, r.model.Graph.Instance, r.tree, wit.Final(), &file, opts)
		return err
	})
	r.w.end(err)
	if err != nil {
		kept.end(false)
		return nil, err
	}
	// What was kept must not decide what is proved, nor stay if it is wrong.
	if !r.o.unchecked || stats.Resumed > 0 {
		if err := r.w.run(ctx, PhaseCheck, func() error { return r.check(file.Bytes(), r.o.sampling) }); err != nil {
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

// follow turns the prover's progress into phases.
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

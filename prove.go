package provemodel

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/prove-model/prove-model/prover/forward"
	"github.com/prove-model/prove-model/prover/prover"
	"github.com/prove-model/prove-model/prover/soundness"
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
	q, err := c.circuit.sized(in)
	if err != nil {
		return nil, err
	}
	p, err := c.key.Plan(q.Graph.Instance)
	if err != nil {
		return nil, err
	}
	o.device.reserve(p, w)
	o.device.foresee(o, p, w)
	var run *Run
	var wit *forward.Witness
	err = w.run(ctx, PhaseRun, func() (err error) {
		run, wit, err = c.circuit.run(ctx, o.device.machine(o, p, w), q, in)
		return err
	})
	if err == nil {
		err = o.device.kept(wit, w)
	}
	if err == nil {
		err = c.circuit.checkWritten(wit)
	}
	if err == nil {
		err = o.bar.check(run)
	}
	if err != nil {
		if wit != nil {
			wit.Close()
		}
		return nil, err
	}
	kept := o.results(w, c, p, wit)
	var file bytes.Buffer
	var stats *prover.Stats
	err = await(ctx, func() (err error) {
		defer wit.Close() // not before the prover has stopped
		opts := o.device.prover(o, w)
		if kept != nil {
			opts.Results = kept
		}
		stats, err = prover.Prove(ctx, c.key, q.Graph.Instance, c.tree, wit.Final(), &file, opts)
		return err
	})
	w.end(err)
	if err != nil {
		kept.end(false)
		return nil, err
	}
	// What was kept must not decide what is proved, nor stay if it is wrong.
	if !o.unchecked || stats.Resumed > 0 {
		if err := w.run(ctx, PhaseCheck, func() error { return c.check(file.Bytes()) }); err != nil {
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
	return &Proof{Run: *run, File: file.Bytes(), Strength: stats.Strength, Resumed: stats.Resumed}, nil
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

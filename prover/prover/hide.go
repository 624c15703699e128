package prover

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/prf"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/pads"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/protocol/reduce"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// Hiding asks for a proof that says nothing of the witness, all that is committed to of the run, but what follows from
// inputs and outputs, which are in the proof, and from the weights, of which it opens columns: it is the part of hiding that
// does not depend on the key.
type Hiding struct {
	// TailLog says how long tails are, a 2^TailLog-th of rows, 2 to 6. With 0 they are as long as the key's.
	TailLog int
	// Weights is the key that CommitMasked gave, under a key whose tree has tails.
	Weights *prf.Key
	// Reserve is called before leaves of that key's tree are opened, with the number of positions at which that may be.
	// All proofs of a key together must open no more than soundness.Budget says, and whoever proves counts: without
	// Reserve there is no proof of such a key. An error ends the proof.
	Reserve func(positions int) error
	// seed takes the place of fresh random bytes in tests.
	seed *[32]byte
}

// hidden is what a run of a hiding proof has besides.
type hidden struct {
	secrets *backend.Secrets
	reads   []pads.Read // of the sub-transcripts
}

// planOf returns the plan of the proof that is asked for.
func planOf(key *proof.Key, in model.Instance, opts *Options) (*plan.Plan, error) {
	h, tails := opts.Hiding, 0
	if t := key.FixedTree(); t != nil {
		tails = t.TailLog
	}
	switch {
	case h == nil && tails == 0:
		return key.Plan(in)
	case h == nil || (h.Weights == nil) != (tails == 0):
		return nil, errors.New("a key whose tree has tails is proved with the secret that was made with it, and no other key is")
	}
	if tails > 0 && h.Reserve == nil {
		return nil, errors.New("a key whose tree has tails has a budget of positions, and nothing counts them")
	}
	if opts.Together != nil {
		return nil, errors.New("hiding proofs are made by one process: their masks are secret")
	}
	if opts.Results != nil {
		return nil, errors.New("hiding proofs are not resumed: their masks are made anew each time")
	}
	if h.TailLog == 0 {
		return key.HidingPlan(in, tails)
	}
	return key.HidingPlan(in, h.TailLog)
}

// hide draws the masks. They follow from fresh random bytes and from the statement, in which all else that a proof depends
// on is, but for the witness: a system that gives the same bytes twice, such as a machine restored from a snapshot, gives
// the same masks to the same statement alone, of which the witness is the same.
func (r *run) hide(main *transcript.Sponge) error {
	var seed [32]byte
	if s := r.opts.Hiding.seed; s != nil {
		seed = *s
	} else if _, err := rand.Read(seed[:]); err != nil {
		return fmt.Errorf("random bytes for masks: %w", err)
	}
	var state []byte
	for _, c := range main.Clone().Challenges(2) {
		for _, limb := range c.Limbs() {
			state = append(state, byte(limb), byte(limb>>8), byte(limb>>16), byte(limb>>24))
		}
	}
	key := prf.Derive("prove-model masks of a proof 1", seed[:], state)
	r.hiding = &hidden{secrets: &backend.Secrets{Key: key, Pads: r.plan.Pads.Fill(&key)}}
	return nil
}

// readBack follows the sub-transcripts of a hiding proof with the verifier's code, which gives the forms of their
// claims. main is the state before them.
func (r *run) readBack(main *transcript.Sponge, results []forked, public reduce.Public) error {
	if r.hiding == nil {
		return nil
	}
	for i, f := range results {
		in := transcript.NewReader(main.Fork(uint64(i)), f.bytes)
		claims, read := reduce.Read(r.plan, i, in, public)
		if err := in.Done(); err != nil {
			return fmt.Errorf("%s, read again: %w", r.plan.Forks[i].Name(), err)
		}
		results[i].claims = claims
		r.hiding.reads = append(r.hiding.reads, read)
	}
	return nil
}

// opening returns what the opening is of, with the secrets of trees that hide.
func (r *run) opening() backend.Opening {
	o := r.plan.Opening()
	for i := range o.Commitments {
		switch {
		case r.hiding == nil:
		case !r.plan.Trees[i].Fixed:
			o.Commitments[i].Secrets = r.hiding.secrets
		case r.opts.Hiding.Weights != nil:
			o.Commitments[i].Secrets = &backend.Secrets{Key: *r.opts.Hiding.Weights}
		}
	}
	return o
}

// joinHidden proves that products of pads are products, and joins all claims and equations.
func (r *run) joinHidden(w *transcript.Writer) (terms whir.Terms, value field.QM31) {
	before, from := w.Clone(), len(w.Bytes())
	r.plan.Pads.Prove(w, r.hiding.secrets.Pads)
	ends := r.plan.Pads.Verify(transcript.NewReader(before, w.Bytes()[from:]))
	tau := w.Challenges(r.plan.TailVars())
	return r.plan.Cut(r.claims).CombineMasked(r.hiding.reads, ends, tau, w.Challenge())
}

// reserve asks for the positions of the opening before its leaves are written.
func (r *run) reserve() error {
	if r.hiding == nil || r.opts.Hiding.Weights == nil {
		return nil
	}
	return r.opts.Hiding.Reserve(r.plan.Params.Levels[0].Queries)
}

// PlanMasked is Plan for a key whose tree has tails, which is good for so many proofs.
func PlanMasked(c *model.Template, sec proof.Security, proofs int) (*plan.Plan, error) {
	p, err := Plan(c, sec)
	if err != nil {
		return nil, err
	}
	fixed := p.FixedTree()
	if fixed == nil {
		return nil, errors.New("a circuit without fixed tensors has none to mask")
	}
	rowVars, tails, err := soundness.ChooseHidingKey(sec.Config(), fixed.Values(), proofs)
	if err != nil {
		return nil, err
	}
	return plan.NewHiding(p.Graph, sec.Config(), tails, rowVars, tails)
}

// CommitMasked is Commit with tails behind the rows of weights, so that so many proofs do not give the weights by the columns
// that they open. Beside key and tree it returns the secret that these tails come from. It is fresh, and must be kept
// as long as proofs are made.
//
// The key's circuit says of the weights what it always does: ranges, scales, tables, constants.
func CommitMasked(ctx context.Context, c *model.Template, w model.Weights, sec proof.Security, proofs int) (*proof.Key, *whir.Tree, *prf.Key, error) {
	p, err := PlanMasked(c, sec, proofs)
	if err != nil {
		return nil, nil, nil, err
	}
	var seed [32]byte
	if _, err := rand.Read(seed[:]); err != nil {
		return nil, nil, nil, fmt.Errorf("random bytes for masks: %w", err)
	}
	// Fresh bytes that come twice, from a machine that was restored from a snapshot, give other tails to another key.
	unmasked, _, err := Commit(ctx, c, w, sec, Options{})
	if err != nil {
		return nil, nil, nil, err
	}
	secret := prf.Derive("prove-model masks of a key 1", seed[:], unmasked.Digest[:], []byte{byte(p.Choice.FixedRowVars), byte(p.Choice.FixedTailLog)})
	commitment := p.FixedTree().Commitment
	commitment.Secrets = &backend.Secrets{Key: secret}
	tree, err := cpu.New(p.Graph, fixedOnly{w}).Commit(ctx, commitment)
	if err != nil {
		return nil, nil, nil, err
	}
	root := tree.Root()
	key, err := proof.NewKey(c, p, sec, &root)
	return key, tree, &secret, err
}

package prover

import (
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/prf"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/pads"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/protocol/reduce"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// Hiding asks for a proof that says nothing of the witness, all that is committed to of the run, but what follows from
// inputs and outputs, which are in the proof, and from the weights, of which it opens columns: it is the part of hiding that
// does not depend on the key.
type Hiding struct {
	// TailLog says how long tails are, a 2^TailLog-th of rows, 2 to 6.
	TailLog int
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
	h := opts.Hiding
	if h == nil {
		return key.Plan(in)
	}
	if l := opts.Lanes; l != nil {
		for i := range l.Machines {
			if !l.Machines[i].Host {
				return nil, errors.New("hiding proofs are made on the processor alone: ask for no GPU")
			}
		}
	}
	if opts.Results != nil {
		return nil, errors.New("hiding proofs are not resumed: their masks are made anew each time")
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

// joinHidden proves that products of pads are products, and joins all claims and equations. It gives the opening the
// secrets of the witness's tree.
func (r *run) joinHidden(w *transcript.Writer, o *backend.Opening) (terms whir.Terms, value field.QM31) {
	for i := range o.Commitments {
		if !r.plan.Trees[i].Fixed {
			o.Commitments[i].Secrets = r.hiding.secrets
		}
	}
	before, from := w.Clone(), len(w.Bytes())
	r.plan.Pads.Prove(w, r.hiding.secrets.Pads)
	ends := r.plan.Pads.Verify(transcript.NewReader(before, w.Bytes()[from:]))
	tau := w.Challenges(r.plan.TailVars())
	return r.plan.Cut(r.claims).CombineMasked(r.hiding.reads, ends, tau, w.Challenge())
}

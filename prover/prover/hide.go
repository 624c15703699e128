package prover

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/math/prf"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/pads"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/protocol/reduce"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/protocol/whir"
	"lukechampine.com/blake3"
)

// Hiding asks for a proof that says nothing of the witness, all that is committed to of the run, hidden inputs included, but
// what follows from the inputs and outputs that are in the proof, and from the weights, of which it opens columns: it is the
// part of hiding that does not depend on the key.
type Hiding struct {
	// TailLog says how long tails are, a 2^TailLog-th of rows, 2 to 6. With 0 they are as long as the key's, or what costs
	// least for an instance that hides inputs or outputs under a key whose tree has none.
	TailLog int
	// Weights is what CommitMasked took, under a key whose tree has tails.
	Weights *prf.Key
	// Reserve is called before leaves of that key's tree are opened, with the number of positions at which that may be and
	// what identifies the proof: called again with the same, it need not count again. All proofs of a key together must
	// open no more than soundness.Budget says, and whoever proves counts: without Reserve there is no proof of such a key.
	// An error ends the proof.
	Reserve func(proof [16]byte, positions int) error
	// Inputs are the commitments of the instance's hidden inputs that were committed to (CommitInput), in order.
	Inputs []InputSecret
	// seed takes the place of all that changes from time to time in tests, and weaken leaves out masks there.
	seed   *[32]byte
	weaken func(*backend.Secrets)
}

// hidden is what a run of a hiding proof has besides.
type hidden struct {
	secrets *backend.Secrets
	reads   []pads.Read // of the sub-transcripts
}

// planOf returns the plan of the proof that is asked for.
func planOf(key *proof.Key, in model.Instance, opts *Options) (*plan.Plan, error) {
	h, tails := opts.Hiding, key.Tails()
	switch {
	case h == nil && in.Hides():
		return nil, errors.New("a proof that hides inputs or outputs is a hiding one, and is not asked for as that")
	case h == nil && tails == 0:
		return key.Plan(in)
	case h == nil || (h.Weights == nil) != (tails == 0):
		return nil, errors.New("a key whose tree has tails is proved with the secret that was made with it, and no other key is")
	}
	if err := checkInputs(h, &in); err != nil {
		return nil, err
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
	if h.TailLog == 0 && (tails > 0 || in.Hides()) {
		return key.Plan(in)
	}
	return key.HidingPlan(in, h.TailLog)
}

// hide draws the masks of the proof.
func (r *run) hide(main *transcript.Sponge) error {
	from := r.opts.Hiding.circumstances(main, planDigest(r.plan))
	if k := r.opts.Hiding.Weights; k != nil {
		from.weights = *k
	}
	for _, v := range r.public(r.plan.Graph.Hidden) {
		d := integersDigest([]ints.Ints{ints.Int32s(v)})
		from.hidden = append(from.hidden, d[:]...)
	}
	key := from.masks()
	r.hiding = &hidden{secrets: &backend.Secrets{Key: key, Pads: r.plan.Pads.Fill(&key)}}
	if weaken := r.opts.Hiding.weaken; weaken != nil {
		weaken(r.hiding.secrets)
	}
	return nil
}

// circumstances are what the masks of a proof follow from. Two proofs with the same masks and other messages would say
// something of both, so all that tells proofs apart is in it: a system that gives the same random bytes twice, such as one
// that was restored from a snapshot, still gives other masks to another statement, under another key, at another time, on
// another machine, and to another release of the program, whose messages may be others.
type circumstances struct {
	fresh   [32]byte // random bytes of the system
	weights prf.Key  // what the tails of the key come from, which nobody else has
	state   []byte   // of the transcript behind the statement: the key's digest, the header, and public values
	plan    [sha256.Size]byte
	hidden  []byte // digests of hidden inputs, which the state does not depend on
	release string
	host    string
	time    time.Time
}

// circumstances returns those at hand of what is proved after main by a plan.
func (h *Hiding) circumstances(main *transcript.Sponge, plan [sha256.Size]byte) circumstances {
	c := circumstances{state: stateOf(main), plan: plan}
	if h.seed != nil {
		c.fresh = *h.seed // nothing that is another the next time
		return c
	}
	_, _ = rand.Read(c.fresh[:]) // which ends the program if there are none
	c.release, c.time = release(), time.Now()
	c.host, _ = os.Hostname()
	return c
}

// masks returns the key that masks come from.
func (c *circumstances) masks() prf.Key {
	at := binary.LittleEndian.AppendUint64(nil, uint64(c.time.UnixNano()))
	parts := [][]byte{c.weights[:], c.state, c.plan[:], []byte(c.release), []byte(c.host), at}
	if len(c.hidden) > 0 {
		parts = append(parts, c.hidden)
	}
	return prf.Derive("prove-model masks of a proof 2", c.fresh[:], parts...)
}

// stateOf returns a digest of a transcript's state.
func stateOf(s *transcript.Sponge) []byte {
	h := sha256.New()
	for _, c := range s.Clone().Challenges(2) {
		for _, limb := range c.Limbs() {
			h.Write(binary.LittleEndian.AppendUint32(nil, uint32(limb)))
		}
	}
	return h.Sum(nil)
}

// planDigest is a digest of what the plan says of messages and trees.
func planDigest(p *plan.Plan) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%v\n%v\n%d", p.Choice, p.Frames, p.Pads.Elements()))
}

// release describes the program, as far as it was built to know.
func release() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return info.String()
}

// readBack follows the sub-transcripts of a hiding proof with the verifier's code, which gives the forms of their
// claims in place of their values. main is the state before them.
func (r *run) readBack(main *transcript.Sponge, results []forked, public reduce.Public) error {
	if r.hiding == nil {
		return nil
	}
	for i, f := range results {
		in := transcript.NewReader(main.Fork(uint64(i)), f.bytes)
		read := reduce.Read(f.claims, r.plan, i, in, public)
		if err := in.Done(); err != nil {
			return fmt.Errorf("%s, read again: %w", r.plan.Forks[i].Name(), err)
		}
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
		case r.plan.Trees[i].Apart > 0:
			o.Commitments[i].Secrets = r.inputSecrets(i)
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

// reserve asks for the positions of the opening before it begins. The transcript's state, with what the roots in it stand for,
// decides which they are: a proof that is made again from there opens the same ones.
func (r *run) reserve(main *transcript.Sponge) error {
	if r.hiding == nil {
		return nil
	}
	proof, positions := [16]byte(stateOf(main)), r.plan.Params.Levels[0].Queries
	for i := range r.opts.Hiding.Inputs {
		if err := r.opts.Hiding.Inputs[i].Reserve(proof, positions); err != nil {
			return err
		}
	}
	if r.opts.Hiding.Weights == nil {
		return nil
	}
	return r.opts.Hiding.Reserve(proof, positions)
}

// PlanMasked is Plan for a key whose tree has tails, which is good for so many proofs.
func PlanMasked(c *model.Template, sec proof.Security, proofs int) (*plan.Plan, error) {
	p, err := Plan(c, sec)
	if err != nil {
		return nil, err
	}
	fixed := p.FixedTree()
	if fixed == nil {
		return nil, errors.New("a circuit without weights has none to hide")
	}
	if len(p.FixedTrees()) > 1 {
		return nil, errors.New("a circuit with a base and an adapter has weights under two trees, which no key hides")
	}
	rowVars, tails, err := soundness.ChooseHidingKey(sec.Config(), fixed.Values(), proofs)
	if err != nil {
		return nil, err
	}
	return plan.NewHiding(p.Graph, sec.Config(), tails, []int{rowVars}, tails)
}

// PlanMaskedAs is PlanMasked for a key of rows and tails that are known.
func PlanMaskedAs(c *model.Template, sec proof.Security, rowVars, tailLog int) (*plan.Plan, error) {
	g, err := c.At(c.Unit())
	if err != nil {
		return nil, err
	}
	return plan.NewHiding(g, sec.Config(), tailLog, []int{rowVars}, tailLog)
}

// TailsKey returns what the tails and salts of a key come from, beside the weights. The same seed gives others to another
// circuit, to other weights, and to rows or tails of another length: tails that two trees have in common would be opened
// in proofs of both.
func TailsKey(c *model.Template, p *plan.Plan, w model.Weights, sec proof.Security, seed [32]byte) (*prf.Key, error) {
	if p.FixedTree() == nil || p.Choice.FixedTailLog == 0 {
		return nil, errors.New("the plan is that of a key without tails")
	}
	rootless, err := proof.NewKey(c, p, sec, hash.Digest{})
	if err != nil {
		return nil, err
	}
	rows := binary.LittleEndian.AppendUint64(nil, uint64(p.FixedTree().Rows()))
	weights := integersDigest(w)
	k := prf.Derive("prove-model masks of a key 3", seed[:], rootless.Digest[:], rows, weights[:])
	return &k, nil
}

// digested is how many integers are hashed as one message.
const digested = 1 << 20

// integersDigest is a digest of lists of known lengths, however many bytes their entries take in memory: of the digests of parts
// of them, each of which is hashed in as few bytes as hold it.
func integersDigest(lists []ints.Ints) [sha256.Size]byte {
	var parts []ints.Ints
	for _, v := range lists {
		for from := 0; v != nil && from < v.Len(); from += digested {
			parts = append(parts, v.Slice(from, min(from+digested, v.Len())))
		}
	}
	digests := make([]byte, sha256.Size*len(parts))
	parallel.For(len(parts), 1, func(from, to int) {
		for i := from; i < to; i++ {
			d := blake3.Sum256(ints.Shortest(parts[i]))
			copy(digests[len(d)*i:], d[:])
		}
	})
	return blake3.Sum256(digests)
}

// CommitMasked is CommitPlanned with tails behind the rows of weights (PlanMasked), so that proofs do not give the weights by
// the columns that they open. The tails come from TailsKey, which every proof of the key takes besides.
//
// The key's circuit says of the weights what it always does: ranges, scales, tables, constants.
func CommitMasked(ctx context.Context, c *model.Template, p *plan.Plan, w model.Weights, sec proof.Security, tails *prf.Key, opts Options) (*proof.Key, Trees, error) {
	return commit(ctx, c, p, &backend.Secrets{Key: *tails}, w, sec, &opts)
}

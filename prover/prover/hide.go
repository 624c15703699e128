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

// Hiding asks for a masked proof (docs/protocol.md, "Masked sub-transcripts"). It says nothing of the values of the run that are
// committed to, hidden inputs included, except what follows from the inputs and outputs in the statement and from the weights. It
// opens columns of the weights, which stay hidden only if the key's tree has tails.
type Hiding struct {
	// TailLog, 2 to 6, says how long the tails of the witness's rows are: a 2^TailLog-th of the rows' length. 0 stands for the TailLog
	// of the key's tree or, if that has no tails and the instance hides inputs or outputs, for the one that costs least.
	TailLog int
	// Weights is the key of the tails that CommitMasked was given. It must be set if the key's tree has tails, and only then.
	Weights *prf.Key
	// Reserve is called before leaves of the key's tree are opened, if that has tails. positions is the greatest number of positions at
	// which the proof opens leaves; proof identifies the proof, so that positions need not be counted again if it is made a second
	// time. All proofs for a key together must open at no more positions than soundness.Budget allows, and it is the prover who
	// counts them: without Reserve no proof for such a key is made. An error ends the proof.
	Reserve func(proof [16]byte, positions int) error
	// Inputs has one element, in order, for each hidden input of the instance that was committed to (CommitInput).
	Inputs []InputSecret
	// Tests set seed, which replaces everything that differs between two runs, and weaken, which removes masks.
	seed   *[32]byte
	weaken func(*backend.Secrets)
}

// hidden is the additional state of a run that makes a masked proof.
type hidden struct {
	secrets *backend.Secrets // what the masks, tails, salts and pads of this proof are made from
	reads   []pads.Read      // of each sub-transcript: the forms of its claims, and its equations (readBack)
}

// planOf returns the plan of the proof that the options ask for. It refuses options that do not go with the key or the instance,
// such as a masked proof without a count of opened positions.
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

// hide derives the key of the proof's masks from its circumstances, and fills the pads. main is the transcript behind the statement.
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

// circumstances is what the masks of a proof are derived from. Two proofs with the same masks and different messages would
// reveal the differences of the values that they mask. So besides fresh random bytes there is everything that tells two proofs
// apart: a system that returns the same random bytes twice, such as one that was restored from a snapshot, still uses other masks
// for another statement, key, time or machine, and for another release of the program, which may send other messages.
type circumstances struct {
	fresh   [32]byte          // random bytes of the system
	weights prf.Key           // the secret key of the weights' tails, which only the prover has; zeros if there are none
	state   []byte            // a digest of the transcript behind the statement, which has absorbed key digest, header and public values
	plan    [sha256.Size]byte // a digest of the plan
	hidden  []byte            // digests of hidden inputs, which the transcript has not absorbed
	release string
	host    string
	time    time.Time
}

// circumstances returns the circumstances of a proof whose transcript continues from main; plan is the digest of its plan. The
// caller adds weights and hidden.
func (h *Hiding) circumstances(main *transcript.Sponge, plan [sha256.Size]byte) circumstances {
	c := circumstances{state: stateOf(main), plan: plan}
	if h.seed != nil {
		c.fresh = *h.seed // for a test: release, host and time stay zero, so that two runs have the same masks
		return c
	}
	_, _ = rand.Read(c.fresh[:]) // never returns an error: it ends the program if the system has no random bytes
	c.release, c.time = release(), time.Now()
	c.host, _ = os.Hostname()
	return c
}

// masks returns the key from which all masks of the proof are derived.
func (c *circumstances) masks() prf.Key {
	at := binary.LittleEndian.AppendUint64(nil, uint64(c.time.UnixNano()))
	parts := [][]byte{c.weights[:], c.state, c.plan[:], []byte(c.release), []byte(c.host), at}
	if len(c.hidden) > 0 {
		parts = append(parts, c.hidden)
	}
	return prf.Derive("prove-model masks of a proof 2", c.fresh[:], parts...)
}

// stateOf returns a digest of a transcript's state: of two challenges of K that a clone of it would draw next.
func stateOf(s *transcript.Sponge) []byte {
	h := sha256.New()
	for _, c := range s.Clone().Challenges(2) {
		for _, limb := range c.Limbs() {
			h.Write(binary.LittleEndian.AppendUint32(nil, uint32(limb)))
		}
	}
	return h.Sum(nil)
}

// planDigest returns a digest of the parts of a plan that messages and trees depend on.
func planDigest(p *plan.Plan) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%v\n%v\n%d", p.Choice, p.Frames, p.Pads.Elements()))
}

// release returns the build information of the program, or "" if it has none.
func release() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return info.String()
}

// readBack reads the sub-transcripts of a masked proof with the verifier's code. That gives each claim as the form that the verifier
// has of it, a known part and a linear form in pads, and replaces the value in results. main is the transcript's state before them.
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

// opening returns the plan's opening, with the secrets added for each tree that has tails and salts: those of an input's commitment, of
// the key's weights, or of this proof's witness.
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

// joinHidden proves that the committed products of pads are products, and combines all claims and equations into the one claim of the
// opening. It follows its own messages with the verifier's code, to get the same forms as the verifier.
func (r *run) joinHidden(w *transcript.Writer) (terms whir.Terms, value field.QM31) {
	before, from := w.Clone(), len(w.Bytes())
	r.plan.Pads.Prove(w, r.hiding.secrets.Pads)
	ends := r.plan.Pads.Verify(transcript.NewReader(before, w.Bytes()[from:]))
	tau := w.Challenges(r.plan.TailVars())
	return r.plan.Cut(r.claims).CombineMasked(r.hiding.reads, ends, tau, w.Challenge())
}

// reserve calls the Reserve functions of the weights and of committed inputs before the opening begins. The transcript's state
// identifies the proof: it decides, together with the tables under the roots that it has absorbed, at which positions the opening
// opens leaves. So a proof that is made again from the same state opens the same positions.
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

// PlanMasked is Plan for a key that hides its weights in up to proofs proofs. It chooses the lengths of rows and tails.
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

// PlanMaskedAs is PlanMasked with given lengths: rows of 2^rowVars values, with tails of a 2^tailLog-th of that.
func PlanMaskedAs(c *model.Template, sec proof.Security, rowVars, tailLog int) (*plan.Plan, error) {
	g, err := c.At(c.Unit())
	if err != nil {
		return nil, err
	}
	return plan.NewHiding(g, sec.Config(), tailLog, []int{rowVars}, tailLog)
}

// TailsKey derives from a seed the secret key of the tails and salts of a tree of weights (CommitMasked). The result depends on the
// circuit, on the weights, and on the lengths of rows and tails too. So one seed may be used for several keys: if two trees had the
// same tails, proofs for both would count against one budget, but each would count its own positions only.
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

// digested is the most integers that integersDigest hashes as one message.
const digested = 1 << 20

// integersDigest returns a digest of lists of integers whose lengths are known to whoever compares digests. It does not depend on how
// many bytes an entry takes in memory: the lists are cut into parts of up to digested entries, each part is hashed in
// the fewest bytes an entry that hold it, and the digests of the parts are hashed.
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

// CommitMasked is CommitPlanned for a plan of PlanMasked: the rows of weights get random tails, so that the columns which proofs open
// say nothing of the weights. The tails are derived from tails (TailsKey), which every proof for the key needs too (Hiding.Weights).
//
// The circuit in the key still shows ranges, scales, tables and constants that were computed from the weights.
func CommitMasked(ctx context.Context, c *model.Template, p *plan.Plan, w model.Weights, sec proof.Security, tails *prf.Key, opts Options) (*proof.Key, Trees, error) {
	return commit(ctx, c, p, &backend.Secrets{Key: *tails}, w, sec, &opts)
}

// Package verifier checks proofs. It needs the key, the proof and nothing
// else: no model file, no GPU, no cgo; it builds for js/wasm.
package verifier

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/pads"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/protocol/reduce"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// ErrInvalid is wrapped by every error that means that the proof is not valid. Other errors
// come from reading.
var ErrInvalid = errors.New("proof is not valid")

// Result is what a valid proof states: the committed model maps Inputs to
// Outputs, with some inputs in their ranges where the circuit has hidden ones, and whatever hidden outputs.
// The integers stand for value·2^(−Frac) of the circuit's tensors.
type Result struct {
	Inputs, Outputs [][]int32 // of the circuit's Given and Outputs
	// Circuit is the key's at the sizes that the proof is for.
	Circuit *model.Graph
	// Strength is that of the weakest round.
	Strength soundness.Strength
	// Bytes is the size of the proof.
	Bytes int64
	// Saturated has an element for each table with rows that the key marks as saturated; none if they are hidden.
	Saturated []Saturation
	// Masked says that the proof shows nothing of the values inside of the circuit, nor how many were saturated, but
	// what follows from inputs, outputs and whatever is known of the weights. It is no word on these.
	Masked bool
	// Written is the text that the model generated, if the key is one for generated text.
	Written *Written
	// Texts is in its place in a proof of several texts (Circuit.Texts).
	Texts []*Written
	// Segment says what the proof of a part of a text rests on; nil of other proofs. What such a proof states holds only if the
	// roots that it names are of the keys and values of the parts before: Chain checks that.
	Segment *Segment
	// Committed are the commitments to hidden inputs that the proof is of, and CommittedInputs their places among the key's inputs: what
	// is hidden is what is under these roots.
	Committed       []*proof.InputCommitment
	CommittedInputs []int
}

// Saturation counts how often a run looked up rows of a table that the key marks as saturated:
// rows for keys beyond the range that the table was made for. The proof proves the count; what
// the marks mean is up to the key, as with scales. A step that clamps on purpose may use the
// same table, so the number of clamped values may be smaller.
type Saturation struct {
	Table     model.TableID
	Count, Of int // Of: all look-ups in the table
}

// Verify checks the proof read from r against the key, in one pass. Time and memory are
// bounded by the key. An error that wraps ErrInvalid (or proof.ErrMalformed) gives the reason.
// It demands no more security than the key does, which may be next to none: to rely on
// somebody else's proof, use a [Policy].
// A segment that rests on others is refused (ErrConditional): Policy.Chain verifies it with these.
func Verify(key *proof.Key, r io.Reader) (*Result, error) {
	return alone(verify(key, func() (*proof.Reader, error) { return proof.NewReader(r) }, nil, nil))
}

// Opened verifies a proof, and calls f with the columns that it opens of the key's tree of weights: their positions in the
// code, and their elements, row by row. They are what a proof gives away of the weights (scripts/recover.sh).
func Opened(key *proof.Key, r io.Reader, f func(positions []uint64, columns [][]field.M31)) error {
	leaves := func(root hash.Digest, positions []uint64, leaves [][]field.M31) {
		if t := key.FixedTree(); t != nil && t.Root == root {
			f(positions, leaves)
		}
	}
	_, err := verify(key, func() (*proof.Reader, error) { return proof.NewReader(r) }, nil, leaves)
	return err
}

// verify is Verify with a function that reads the proof's header, with a rule for drawn
// tokens, and with a function that is told of leaves, or nil.
func verify(key *proof.Key, open func() (*proof.Reader, error), by *Sampling, leaves func(hash.Digest, []uint64, [][]field.M31)) (result *Result, err error) {
	// No bytes should make the verifier panic. If some do, the proof is not valid.
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, failedOn(p)
		}
	}()
	in, err := open()
	if err != nil {
		return nil, err
	}
	header := in.Header()
	if header.Key != key.Digest {
		return nil, fmt.Errorf("%w: it was made for another key, that of commitment %x, not %x", ErrInvalid, header.Key, key.Digest)
	}
	g, err := key.GraphOf(header)
	if err == nil {
		err = plan.CheckSizes(g)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	v := &verification{key: key, in: in, leaves: leaves}
	in.Limit(proof.PublicLimits(g))
	v.graph = g
	// The plan is made while the public values are absorbed; with many values both take about
	// as long.
	var planErr error
	parallel.Do(
		func() { v.plan, planErr = key.PlanOf(header) },
		func() { err = v.statement(g) },
	)
	if planErr != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, planErr)
	}
	if err != nil {
		return nil, err
	}
	p := v.plan
	in.Limit(proof.LimitsFor(p))
	var texts []*Written
	var textErr error
	parallel.Do(
		func() { texts, v.segment, textErr = v.texts(by) },
		v.read,
	)
	if textErr != nil {
		return nil, textErr
	}
	if err := v.run(); err != nil {
		return nil, err
	}
	if err := in.End(); err != nil {
		return nil, err
	}
	result = &Result{
		Inputs: v.inputs, Outputs: v.outputs, Circuit: p.Graph, Bytes: in.Size(),
		Strength: p.Strength(), Saturated: v.saturated(), Masked: p.Pads != nil, Segment: v.segment,
	}
	result.Committed, result.CommittedInputs = header.Inputs(p.Graph)
	if p.Graph.Texts > 0 {
		result.Texts = texts
	} else if len(texts) > 0 {
		result.Written = texts[0]
	}
	return result, nil
}

// failedOn is the error of a panic.
func failedOn(p any) error { return fmt.Errorf("%w: the verifier failed on it: %v", ErrInvalid, p) }

type verification struct {
	leaves          func(hash.Digest, []uint64, [][]field.M31) // told of what is opened, or nil
	key             *proof.Key
	plan            *plan.Plan
	graph           *model.Graph
	in              *proof.Reader
	inputs, outputs [][]int32
	all             [][]int32         // inputs, and what follows from the statement
	digest          [sha256.Size]byte // of the statement
	segment         *Segment
	main            *transcript.Sponge
	roots           []hash.Digest // by tree of the plan
	claims          []plan.Claim
	reads           []pads.Read // of the sub-transcripts of a hiding proof

	bodies [][]byte // of the frames up to the opening, as far as they can be read
	unread error    // of the frame after these
}

// statement reads the public values of a circuit and starts the transcript with them.
func (v *verification) statement(g *model.Graph) (err error) {
	if v.inputs, v.outputs, err = v.in.Public(g); err != nil {
		return err
	}
	v.digest = v.in.Statement()
	if err := v.key.CheckStatement(&g.Instance, g.Instance.Spread(v.inputs)); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	v.main = v.in.Header().Statement(v.inputs, v.outputs)
	v.all = g.Widen(v.inputs, v.outputs, false)
	return nil
}

// texts checks what the model wrote.
func (v *verification) texts(by *Sampling) ([]*Written, *Segment, error) {
	if v.in.Header().Segment == nil {
		list, err := WrittenIn(v.key.Text(), by, v.graph, v.inputs, v.outputs)
		return list, nil, err
	}
	return v.writtenSegment(by)
}

// read reads the messages of the commitments and of all sub-transcripts.
func (v *verification) read() {
	for range 1 + len(v.plan.Forks) {
		var body []byte
		if body, v.unread = v.in.Next(); v.unread != nil {
			return
		}
		v.bodies = append(v.bodies, body)
	}
}

// run follows the transcript: commitments, one sub-transcript for each chunk and one for the
// public outputs, their ends, and the opening of all claims.
func (v *verification) run() error {
	if choice := v.key.ChoiceOf(v.in.Header()); !choice.Equal(&v.plan.Choice) {
		return fmt.Errorf("%w: a choice of parameters that the plan does not take", ErrInvalid)
	}
	if err := v.commitments(v.main); err != nil {
		return err
	}
	forks, err := v.forks(v.main)
	if err != nil {
		return err
	}
	v.main.Join(forks...)
	return v.opening(v.main)
}

// commitments receives the root of the witness. The roots of the fixed tensors are in the key,
// whose digest the statement binds; others are in the header, which is part of the statement.
func (v *verification) commitments(main *transcript.Sponge) error {
	if len(v.bodies) == 0 {
		return v.unread
	}
	r := transcript.NewReader(main, v.bodies[0])
	v.roots = make([]hash.Digest, len(v.plan.Trees))
	for i := range v.plan.Trees {
		switch t := &v.plan.Trees[i]; {
		case t.Fixed:
			v.roots[i] = v.key.Trees[i].Root
		case t.Apart > 0:
			v.roots[i] = v.in.Header().Trees[t.Apart-1].Root
		default:
			v.roots[i] = r.Digest()
		}
	}
	if err := r.Done(); err != nil {
		return fmt.Errorf("%w: commitments: %w", ErrInvalid, err)
	}
	return nil
}

// forks verifies all sub-transcripts in parallel and collects their claims. If several fail,
// the error is that of the first.
func (v *verification) forks(main *transcript.Sponge) ([]*transcript.Sponge, error) {
	bodies := v.bodies[1:]
	forks, errs := make([]*transcript.Sponge, len(bodies)), make([]error, len(bodies))
	v.reads = make([]pads.Read, len(bodies))
	claims, n := make([][]plan.Claim, len(bodies)), 0 // parts of all of them
	for i := range bodies {
		n += len(v.plan.Forks[i].Claims)
	}
	v.claims = make([]plan.Claim, n)
	for i, rest := 0, v.claims; i < len(bodies); i++ {
		n := len(v.plan.Forks[i].Claims)
		claims[i], rest = rest[:n:n], rest[n:]
	}
	parallel.For(len(bodies), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			f := v.plan.Forks[i]
			r := transcript.NewReader(main.Fork(uint64(i)), bodies[i])
			public := reduce.Public{Inputs: v.all, Outputs: v.outputs}
			if v.plan.Pads != nil {
				v.reads[i] = reduce.Read(claims[i], v.plan, i, r, public)
			} else {
				reduce.RunInto(claims[i], v.plan, f, reduce.NewVerifier(r), public)
			}
			if err := r.Done(); err != nil {
				errs[i] = fmt.Errorf("%w: %s: %w", ErrInvalid, f.Name(), err)
			}
			forks[i] = r.Sponge
		}
	})
	for _, err := range append(errs, v.unread) {
		if err != nil {
			return nil, err
		}
	}
	return forks, nil
}

// saturated returns, for each table, the sum of the counts of saturated rows over all chunks.
func (v *verification) saturated() []Saturation {
	g := v.plan.Graph
	if v.plan.Pads != nil { // hidden, as everything else of the run
		return nil
	}
	table, count := map[model.TensorID]model.TableID{}, make([]int, len(g.Tables))
	for _, m := range g.Mults {
		table[m.Tensor] = m.Table
	}
	for i := range v.claims {
		if c := &v.claims[i]; c.Saturated != nil {
			count[table[c.Tensor]] += int(c.Value.Plain().C0.A0)
		}
	}
	var list []Saturation
	for i, of := range g.LookedUp() {
		if len(g.Tables[i].Saturated) > 0 {
			list = append(list, Saturation{model.TableID(i), count[i], of})
		}
	}
	return list
}

// opening checks all claims on committed tensors with one opening.
func (v *verification) opening(main *transcript.Sponge) error {
	var body []byte
	var err error
	var cuts *plan.Cuts
	parallel.Do(
		func() { body, err = v.in.Next() },
		func() { cuts = v.plan.Cut(v.claims) },
	)
	if err != nil {
		return err
	}
	r := transcript.NewReader(main, body)
	r.Leaves = v.leaves
	if v.plan.Params != nil {
		var terms whir.Terms
		var value field.QM31
		if v.plan.Pads != nil {
			ends := v.plan.Pads.Verify(r)
			tau := r.Challenges(v.plan.TailVars())
			terms, value = cuts.CombineMasked(v.reads, ends, tau, r.Challenge())
		} else {
			tau := r.Challenges(v.plan.TailVars())
			terms, value = cuts.Combine(tau, r.Challenge())
		}
		whir.Verify(r, v.plan.Params, v.roots, v.plan.Layouts(), v.plan.RowOffsets(), terms, value)
	}
	if err := r.Done(); err != nil {
		return fmt.Errorf("%w: opening: %w", ErrInvalid, err)
	}
	return nil
}

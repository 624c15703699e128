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

// ErrInvalid is wrapped by every error that means that the proof is not valid, except for malformed bytes
// (proof.ErrMalformed). Other errors come from reading.
var ErrInvalid = errors.New("proof is not valid")

// Result is what a valid proof states: the committed model maps Inputs to Outputs. Of hidden inputs a proof states only that
// there are values of them, within their ranges, for which this holds; of hidden outputs it states nothing. An integer v in a
// tensor stands for the real number v·2^(−Frac), where Frac is that of the tensor in Circuit.
type Result struct {
	// Inputs and Outputs hold one list of entries, row-major, for each tensor of Circuit.Given and of Circuit.Outputs, in order.
	Inputs, Outputs [][]int32
	// Circuit is the key's circuit at the sizes, and with the other options, that the proof's header names.
	Circuit *model.Graph
	// Strength is the security of the weakest round.
	Strength soundness.Strength
	// Bytes is the size of the proof file.
	Bytes int64
	// Saturated has one element for each table of which the key marks rows as saturated. It is nil if the proof is masked.
	Saturated []Saturation
	// Masked says that the proof shows nothing of the values inside the circuit, nor how many were saturated, except what
	// follows from the inputs, the outputs and what is known of the weights. It does not say whether any of these are hidden.
	Masked bool
	// Written is the text that the model generated. It is nil if the key is not for generated text, or if Texts is set.
	Written *Written
	// Texts replaces Written in a proof of several texts (Circuit.Texts): one element for each text.
	Texts []*Written
	// Segment is nil unless the proof is of a segment of a text. The statement of a segment's proof holds only if the trees of
	// earlier segments that it names hold the keys and values of those segments. Policy.Chain checks that; Verify does not.
	Segment *Segment
	// Committed are the input commitments that the proof names, and CommittedInputs the places of these inputs among the key's
	// inputs. The values of these hidden inputs are those under the commitments' roots.
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

// Verify checks the proof read from r against the key, in one pass. Time and memory are bounded by the key. An
// error that wraps ErrInvalid (or proof.ErrMalformed) gives the reason. Verify demands no more security than the
// key does, and a hostile key may ask for next to none: to rely on somebody else's proof, use a [Policy]. The proof
// of a segment that rests on earlier ones is refused (ErrConditional): Policy.Chain verifies all of them.
func Verify(key *proof.Key, r io.Reader) (*Result, error) {
	return alone(verify(key, func() (*proof.Reader, error) { return proof.NewReader(r) }, nil, nil))
}

// Opened verifies a proof, and calls f with the columns that the proof opens of the key's first tree of fixed tensors: their
// positions in the code, and the elements of each, row by row. They are what a proof gives away of the weights (scripts/recover.sh).
func Opened(key *proof.Key, r io.Reader, f func(positions []uint64, columns [][]field.M31)) error {
	leaves := func(root hash.Digest, positions []uint64, leaves [][]field.M31) {
		if t := key.FixedTree(); t != nil && t.Root == root {
			f(positions, leaves)
		}
	}
	_, err := verify(key, func() (*proof.Reader, error) { return proof.NewReader(r) }, nil, leaves)
	return err
}

// verify does the work of Verify, Policy and Opened; it does not refuse segments that rest on others. open reads the
// proof's header, by is the rule for drawn tokens or nil, and leaves, if not nil, is called with the opened leaves of each tree.
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
	// The header is the prover's choice. GraphOf refuses one that does not suit the key, and CheckSizes one that would make
	// the verifier lay out too much, before anything of that size is allocated.
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
	// The sub-transcripts are read while the text is checked: choosing tokens from logits may take long.
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
	// Nothing may follow: bytes behind the proof would make several files of one proof.
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

// failedOn returns the error that replaces a panic with value p.
func failedOn(p any) error { return fmt.Errorf("%w: the verifier failed on it: %v", ErrInvalid, p) }

// verification is the state of one call of verify.
type verification struct {
	leaves          func(hash.Digest, []uint64, [][]field.M31) // called with the opened leaves of each tree; may be nil
	key             *proof.Key
	plan            *plan.Plan
	graph           *model.Graph // the key's circuit at the header's sizes
	in              *proof.Reader
	inputs, outputs [][]int32         // the values that the proof states
	all             [][]int32         // by input of graph: inputs, and those that follow from the statement (Graph.Widen)
	digest          [sha256.Size]byte // of the statement; a later segment names it as its predecessor
	segment         *Segment
	main            *transcript.Sponge // the main transcript, from which the sub-transcripts fork
	roots           []hash.Digest      // by tree of the plan
	claims          []plan.Claim       // of all sub-transcripts, in order; the opening proves them
	reads           []pads.Read        // what was read of each sub-transcript of a masked proof; empty values otherwise

	bodies [][]byte // streams of the frames before the opening: commitments, then sub-transcripts, up to the first that fails
	unread error    // why the frame behind bodies could not be read; nil if all were
}

// statement reads the public values of a circuit and starts the transcript with the header and these. The reader refuses values
// outside the tensors' ranges, which the static bounds rest on. CheckStatement refuses an index beyond its axis, which would read
// a zero of the padding, and positions of logits other than those that the key prescribes.
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

// texts checks the tokens that the model is said to have written against the logits of the statement. The proof itself does not
// force them: without this check it would only say which logits the model gives for tokens that somebody chose.
func (v *verification) texts(by *Sampling) ([]*Written, *Segment, error) {
	if v.in.Header().Segment == nil {
		list, err := WrittenIn(v.key.Text(), by, v.graph, v.inputs, v.outputs)
		return list, nil, err
	}
	return v.writtenSegment(by)
}

// read reads the frames of the commitments and of all sub-transcripts into bodies. It absorbs nothing.
func (v *verification) read() {
	for range 1 + len(v.plan.Forks) {
		var body []byte
		if body, v.unread = v.in.Next(); v.unread != nil {
			return
		}
		v.bodies = append(v.bodies, body)
	}
}

// run follows the transcript (docs/protocol.md, "Hash and transcript"): commitments, one sub-transcript for each chunk and one
// for the public outputs, their ends, and the opening of all claims.
func (v *verification) run() error {
	// The plan must have exactly the parameters of this key and header. PlanOf returns such a plan. If it did not, the strength in
	// the Result would be that of other parameters than those which the transcript has absorbed.
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

// commitments sets the root of each tree of the plan. It receives that of the witness, which the transcript absorbs here, before
// any challenge. The roots of the fixed tensors are in the key, whose digest the header names; those of keys and values of
// segments and of committed inputs (plan.Tree.Apart) are in the header. The transcript has absorbed the header.
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

// forks verifies all sub-transcripts in parallel and collects their claims. If several fail, the error is that of the first. If
// read stopped early, the sub-transcripts that are there are verified, and unread is the error.
func (v *verification) forks(main *transcript.Sponge) ([]*transcript.Sponge, error) {
	bodies := v.bodies[1:]
	forks, errs := make([]*transcript.Sponge, len(bodies)), make([]error, len(bodies))
	v.reads = make([]pads.Read, len(bodies))
	claims, n := make([][]plan.Claim, len(bodies)), 0 // by sub-transcript, each a part of v.claims
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

// saturated returns, for each table with rows that the key marks as saturated, the sum of the counts of look-ups that hit such
// rows, over all chunks. The opening has proved each count (docs/protocol.md, "Look-ups"), so it is called after run.
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

// opening checks all claims on committed tensors with one opening. In a masked proof it checks the equations between the pads of
// the sub-transcripts too (docs/protocol.md, "Masked sub-transcripts"). The challenges are drawn in this order: tau is the point
// for the unused ends of the witness's rows, and the last one combines all claims.
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

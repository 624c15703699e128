// Package verifier checks proofs. It needs the key, the proof and nothing
// else: no model file, no GPU, no cgo; it builds for js/wasm.
package verifier

import (
	"errors"
	"fmt"
	"io"

	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/plan"
	"github.com/prove-model/prove-model/prover/poseidon2"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/sites"
	"github.com/prove-model/prove-model/prover/soundness"
	"github.com/prove-model/prove-model/prover/transcript"
	"github.com/prove-model/prove-model/prover/whir"
)

// ErrInvalid is wrapped by every error that means "this proof does not prove
// it"; other errors are those of the reader.
var ErrInvalid = errors.New("proof is not valid")

// Result is what a valid proof states: the committed model maps Inputs to
// Outputs. The integers stand for value·2^(−Frac) of the circuit's tensors.
type Result struct {
	Inputs, Outputs [][]int32
	// Circuit is the key's at the sizes that the proof is for.
	Circuit *model.Graph
	// Strength is that of the weakest round.
	Strength soundness.Strength
	// Bytes is the size of the proof.
	Bytes int64
	// Saturated has an element for each table that the key marks rows of.
	Saturated []Saturation
	// Written says what the model wrote, if the key says that it does.
	Written *Written
}

// Saturation is how often a run looked up rows of a table that the key marks as
// saturated: those of keys beyond the range that the table was made for. The proof
// states it. What the marks mean is the key's word, as scales are; a step for which
// they do not mean that may look up in the same table, and then fewer values were
// clamped.
type Saturation struct {
	Table     model.TableID
	Count, Of int // Of: all look-ups in the table
}

// Verify checks the proof read from r against the key, in one pass. Time and
// memory are bounded by the key. An error that wraps ErrInvalid (or
// proof.ErrMalformed) gives the reason. It asks for no more security than the
// key does, which may be next to none: whoever relies on the proof of another
// uses a [Policy].
func Verify(key *proof.Key, r io.Reader) (result *Result, err error) {
	// No bytes should get here that make the verifier panic; if some do, they
	// are no proof.
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, fmt.Errorf("%w: the verifier failed on it: %v", ErrInvalid, p)
		}
	}()
	in, err := proof.NewReader(r)
	if err != nil {
		return nil, err
	}
	header := in.Header()
	if header.Key != key.Digest {
		return nil, fmt.Errorf("%w: it was made for another key, that of commitment %x, not %x", ErrInvalid, header.Key, key.Digest)
	}
	p, err := key.PlanOf(header)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	in.Limit(proof.LimitsFor(p))
	v := &verification{key: key, plan: p, in: in}
	if v.inputs, v.outputs, err = in.Public(p.Graph); err != nil {
		return nil, err
	}
	var text *Written
	if t := key.Text; t != nil && t.Generates {
		if text, err = WrittenOf(t, v.inputs[0], v.inputs[1], v.outputs[0]); err != nil {
			return nil, err
		}
	}
	if err := v.run(); err != nil {
		return nil, err
	}
	if err := in.End(); err != nil {
		return nil, err
	}
	return &Result{
		Inputs: v.inputs, Outputs: v.outputs, Circuit: p.Graph, Bytes: in.Size(),
		Strength: p.Strength(), Saturated: v.saturated(), Written: text,
	}, nil
}

type verification struct {
	key             *proof.Key
	plan            *plan.Plan
	in              *proof.Reader
	inputs, outputs [][]int32
	roots           []poseidon2.Digest // by tree of the plan
	claims          []plan.Claim
}

// run follows the transcript: commitments, one fork a chunk, one for the
// public outputs, the join, and the opening of all claims.
func (v *verification) run() error {
	main := v.plan.Statement(v.key.Digest, v.inputs, v.outputs)
	if err := v.commitments(main); err != nil {
		return err
	}
	forks := make([]*transcript.Sponge, 0, len(v.plan.Forks))
	for i, f := range v.plan.Forks {
		fork, err := v.fork(main, uint64(i), f)
		if err != nil {
			return err
		}
		forks = append(forks, fork)
	}
	main.Join(forks...)
	return v.opening(main)
}

// commitments receives the root of the witness. That of the fixed tensors is
// the key's, which the statement has bound.
func (v *verification) commitments(main *transcript.Sponge) error {
	body, err := v.in.Next()
	if err != nil {
		return err
	}
	r := transcript.NewReader(main, body)
	v.roots = make([]poseidon2.Digest, len(v.plan.Trees))
	for i := range v.plan.Trees {
		if v.plan.Trees[i].Fixed {
			v.roots[i] = v.key.Root
		} else {
			v.roots[i] = r.Digest()
		}
	}
	if err := r.Done(); err != nil {
		return fmt.Errorf("%w: commitments: %w", ErrInvalid, err)
	}
	return nil
}

// fork verifies one fork and collects its claims.
func (v *verification) fork(main *transcript.Sponge, index uint64, f *plan.Fork) (*transcript.Sponge, error) {
	body, err := v.in.Next()
	if err != nil {
		return nil, err
	}
	r := transcript.NewReader(main.Fork(index), body)
	claims := sites.Run(v.plan, f, sites.NewVerifier(r), sites.Public{Inputs: v.inputs, Outputs: v.outputs})
	if err := r.Done(); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrInvalid, f.Name(), err)
	}
	v.claims = append(v.claims, claims...)
	return r.Sponge, nil
}

// saturated adds up, by table, the counts that chunks have claims on.
func (v *verification) saturated() []Saturation {
	g := v.plan.Graph
	table, count := map[model.TensorID]model.TableID{}, make([]int, len(g.Tables))
	for _, m := range g.Mults {
		table[m.Tensor] = m.Table
	}
	for i := range v.claims {
		if c := &v.claims[i]; c.Saturated != nil {
			count[table[c.Tensor]] += int(c.Value.C0.A0)
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
	body, err := v.in.Next()
	if err != nil {
		return err
	}
	r := transcript.NewReader(main, body)
	if v.plan.Params != nil {
		tau := r.Challenges(v.plan.TailVars())
		terms, value := v.plan.Combine(v.claims, tau, r.Challenge())
		whir.Verify(r, v.plan.Params, v.roots, v.plan.Layouts(), v.plan.RowOffsets(), terms, value)
	}
	if err := r.Done(); err != nil {
		return fmt.Errorf("%w: opening: %w", ErrInvalid, err)
	}
	return nil
}

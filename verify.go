package provemodel

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/verifier"
)

// Errors of Verify and ReadKey. All that mean "this is not proved" wrap
// ErrInvalid; errors that do not are those of the readers.
var (
	ErrInvalid    = verifier.ErrInvalid
	ErrOtherModel = verifier.ErrOtherModel // wrapped too when Pin names another key
	ErrOtherInput = errors.New("the proof is about another input")
)

// WeakError is in the error of Verify when the key gives less security than
// MinBits asks for.
type WeakError = verifier.WeakError

// Statement is what a valid proof says: the quantised model with the commitment
// maps the inputs to the outputs, exactly.
type Statement struct {
	Commitment Commitment
	Inputs     []Tensor // as they were rounded
	Outputs    []Tensor
	Strength   Strength
	Bytes      int64 // size of the proof
	// Clamped counts the entries of the given arrays (For) beyond the range of
	// their input: the proof is the same for all of these.
	Clamped int
	// Saturated says how many values inside of the model were, at most, clamped to
	// what calibration met: for each look-up table that the key has clamp, with the
	// nodes that use it. It is empty if the key has none. The proof states the
	// counts; which rows of a table they are of is the key's word.
	Saturated []Saturation
}

// Verify checks a proof, in one pass, in time and memory that the key bounds.
// Whoever relies on the result must know that the key is the model's: from its
// owner, or by its commitment (Pin), or by CheckKey. Package verifier does the
// same without a model reader in the program, also for js/wasm.
func Verify(key *Key, r io.Reader, opts ...Option) (*Statement, error) {
	o := apply(opts)
	result, err := o.policy.Verify(key, r)
	if err != nil {
		return nil, invalid(err)
	}
	g := result.Circuit
	s := &Statement{
		Commitment: key.Digest, Strength: result.Strength, Bytes: result.Bytes,
		Inputs: public(g, g.Inputs, result.Inputs), Outputs: public(g, g.Outputs, result.Outputs),
		Saturated: proved(g, result.Saturated),
	}
	if o.arrays != nil {
		if s.Clamped, err = sameInput(g, result.Inputs, o.arrays); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}
	return s, nil
}

// proved names the nodes that look up in the tables of saturations.
func proved(g *model.Graph, list []verifier.Saturation) []Saturation {
	type use struct {
		table model.TableID
		node  string
	}
	seen, nodes := map[use]bool{}, make([][]string, len(g.Tables))
	for i := range g.Steps {
		s := &g.Steps[i]
		if u := (use{s.Table, s.Name}); s.Kind == model.StepLookup && !seen[u] {
			seen[u] = true
			nodes[s.Table] = append(nodes[s.Table], s.Name)
		}
	}
	const most = 3
	var out []Saturation
	for _, s := range list {
		n := nodes[s.Table]
		where := strings.Join(n[:min(most, len(n))], ", ")
		if len(n) > most {
			where += fmt.Sprintf(" and %d other nodes", len(n)-most)
		}
		out = append(out, Saturation{where, s.Count, s.Of, float64(s.Count) / float64(s.Of)})
	}
	return out
}

// invalid has an error about malformed bytes wrap ErrInvalid.
func invalid(err error) error {
	if errors.Is(err, proof.ErrMalformed) && !errors.Is(err, ErrInvalid) {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return err
}

// sameInput checks that the public inputs of a proof are the given ones, as the
// quantiser rounds them, and returns how many of these it had to clamp.
func sameInput(g *model.Graph, public [][]int32, arrays Arrays) (clamped int, err error) {
	ints, clamped, err := roundInput(g, arrays)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrOtherInput, err)
	}
	for i := range ints {
		if !slices.Equal(ints[i], public[i]) {
			return 0, ErrOtherInput
		}
	}
	return clamped, nil
}

// public returns public tensors as real numbers.
func public(g *model.Graph, ids []model.TensorID, ints [][]int32) []Tensor {
	out := make([]Tensor, len(ids))
	for i, id := range ids {
		t := &g.Tensors[id]
		out[i] = tensor(t.Name, t.Shape, make([]float64, len(ints[i])))
		for j, v := range ints[i] {
			out[i].Values[j] = math.Ldexp(float64(v), -t.FracAt(j))
		}
	}
	return out
}

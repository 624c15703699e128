package provemodel

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/statement"
	"github.com/prove-model/prove-model/prover/verifier"
)

// Errors of Verify and ReadKey. All that mean "this is not proved" wrap
// ErrInvalid; errors that do not are those of the readers.
var (
	ErrInvalid    = verifier.ErrInvalid
	ErrOtherModel = verifier.ErrOtherModel // wrapped too when ExpectCommitment is another key's
	ErrOtherInput = statement.ErrOtherInput
)

// WeakError is in the error of Verify when the key gives less security than
// MinBits asks for.
type WeakError = verifier.WeakError

// Statement is what a valid proof says: the quantised model with the commitment
// maps the inputs to the outputs, exactly.
type Statement struct {
	Commitment Commitment
	Inputs     []Tensor           // as they were rounded
	Outputs    []Tensor           // FirstValues may leave some out
	Strength   soundness.Strength // proven bits, and what proofs of work add
	Bytes      int64              // size of the proof
	// Clamped counts the entries of the given arrays (VerifyOptions.Input) beyond the range of
	// their input: the proof is the same for all of these.
	Clamped int
	// Certified says that a certificate shows the static bounds. If
	// not, that the integers of the model never wrap rests on who issued the key.
	Certified bool
	// Saturated says how many values inside of the model were, at most, clamped to
	// what calibration met: for each look-up table that the key has clamp, with the
	// nodes that use it. It is empty if the key has none. The proof states the
	// counts; which rows of a table they are of is the key's word.
	Saturated []statement.Saturation
	// Generated is what a language model wrote after a prompt, if the key is for that
	// (MaxTokens): the verifier has held every token against the logits.
	Generated *verifier.Written
	// Text says what tokens mean, nil unless the model is one of language.
	Text *proof.Text
}

// VerifyOptions say what Verify accepts. The zero value, as nil, accepts any valid proof of a
// key of at least 100 bits.
type VerifyOptions struct {
	// MinBits is the least security of the weakest round, proofs of work included, that the
	// key must give: 0 is 100. Every key gives at least 1.
	MinBits int
	// ExpectCommitment, if not nil, is the commitment of the model that the caller knows: no
	// other key is accepted.
	ExpectCommitment *Commitment
	// Input, if not nil, is what the proof must be about, rounded as the key says.
	Input Arrays
	// Sampling, if not nil, is the rule by which a language model's tokens must have been drawn:
	// Verify draws them again. A proof states tokens and logits, and not how the one was chosen
	// by the other. Nil says that each token is the likeliest.
	Sampling *Sampling
	// Certificate, if not nil, is a certificate of the key (Certify). Verify checks it, and that
	// the bounds of the circuit of the proof follow from it.
	Certificate io.Reader
	// FirstValues is how many values of each output the statement gives: 0 is all. A language
	// model may have a million of them. All are verified.
	FirstValues int
}

// validate refuses what no proof could be held against.
func (o *VerifyOptions) validate() error {
	switch {
	case o.MinBits < 0:
		return fmt.Errorf("MinBits is %d: bits of security are at least 1, or 0 for the default", o.MinBits)
	case o.FirstValues < 0:
		return fmt.Errorf("FirstValues is %d: it must be at least 1, or 0 for all values", o.FirstValues)
	case o.Sampling != nil:
		return o.Sampling.Validate()
	}
	return nil
}

func (o *VerifyOptions) policy() verifier.Policy {
	return verifier.Policy{MinBits: o.MinBits, Commitment: (*[len(Commitment{})]byte)(o.ExpectCommitment), Sampling: o.Sampling}
}

// Verify checks a proof, in one pass, in time and memory that the key bounds. opts may be nil.
// Whoever relies on the result must know that the key is the model's: from its
// owner, or by its commitment (VerifyOptions), or by CheckKey. Package verifier does the
// same without a model reader in the program, also for js/wasm.
func Verify(key *Key, r io.Reader, opts *VerifyOptions) (*Statement, error) {
	opts = orDefault(opts)
	if err := opts.validate(); err != nil {
		return nil, err
	}
	result, err := opts.policy().Verify(key, r)
	if err != nil {
		return nil, invalid(err)
	}
	return opts.stated(key, result)
}

// VerifyFiles is ReadKey and Verify in one, for a key that is needed once: it takes less time.
func VerifyFiles(vk, r io.Reader, opts *VerifyOptions) (*Statement, error) {
	opts = orDefault(opts)
	if err := opts.validate(); err != nil {
		return nil, err
	}
	key, result, err := opts.policy().VerifyFiles(vk, r)
	if err != nil {
		return nil, invalid(err)
	}
	return opts.stated(key, result)
}

// stated is the statement of a proof that holds, if it is the one asked for.
func (o *VerifyOptions) stated(key *Key, result *verifier.Result) (*Statement, error) {
	n := math.MaxInt
	if o.FirstValues > 0 {
		n = o.FirstValues
	}
	s := &Statement{
		Commitment: key.Digest, Strength: result.Strength, Bytes: result.Bytes,
		Inputs: statement.Inputs(result), Outputs: statement.FirstOutputs(result, n), Saturated: statement.Saturations(result),
		Generated: result.Written, Text: key.Text,
	}
	if o.Input != nil {
		arrays, err := o.Input.For(asInputs(s.Inputs))
		if err != nil {
			return nil, fmt.Errorf("%w: %w: %w", ErrInvalid, ErrOtherInput, err)
		}
		given := make([]statement.Array, len(arrays)) // by position, of shapes that fit
		for i, a := range arrays {
			given[i].Values = a.Values
		}
		if s.Clamped, err = statement.Compare(result, given); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}
	if o.Certificate != nil {
		if err := o.certified(key, result.Circuit); err != nil {
			return nil, err
		}
		s.Certified = true
	}
	return s, nil
}

// asInputs are the inputs of a statement for arrays to be read as.
func asInputs(tensors []Tensor) []graph.Input {
	out := make([]graph.Input, len(tensors))
	for i, t := range tensors {
		out[i] = graph.Input{Name: t.Name, Shape: t.Shape}
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

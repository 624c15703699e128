package provemodel

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/statement"
	"github.com/prove-model/prove-model/prover/verifier"
)

// Errors of Verify and ReadKey. All that mean "this is not proved" wrap
// ErrInvalid; errors that do not are those of the readers.
var (
	ErrInvalid    = verifier.ErrInvalid
	ErrOtherModel = verifier.ErrOtherModel // wrapped too when Pin names another key
	ErrOtherInput = statement.ErrOtherInput
)

// WeakError is in the error of Verify when the key gives less security than
// MinBits asks for.
type WeakError = verifier.WeakError

// Statement is what a valid proof says: the quantised model with the commitment
// maps the inputs to the outputs, exactly.
type Statement struct {
	Commitment Commitment
	Inputs     []Tensor // as they were rounded
	Outputs    []Tensor // FirstValues may leave some out
	Strength   Strength
	Bytes      int64 // size of the proof
	// Clamped counts the entries of the given arrays (For) beyond the range of
	// their input: the proof is the same for all of these.
	Clamped int
	// Certified says that a certificate (Certificate) shows the static bounds. If
	// not, that the integers of the model never wrap rests on who issued the key.
	Certified bool
	// Saturated says how many values inside of the model were, at most, clamped to
	// what calibration met: for each look-up table that the key has clamp, with the
	// nodes that use it. It is empty if the key has none. The proof states the
	// counts; which rows of a table they are of is the key's word.
	Saturated []Saturation
	// Written is what a language model wrote after a prompt, if the key is for that
	// (MaxTokens): the verifier has held every token against the logits.
	Written *Written
	// Text says what tokens mean, nil unless the model is one of language.
	Text *Text
}

// Text says what the tokens of a language model mean: by which tokenizer, and which of
// them end a text.
type Text = proof.Text

// Verify checks a proof, in one pass, in time and memory that the key bounds.
// Whoever relies on the result must know that the key is the model's: from its
// owner, or by its commitment (Pin), or by CheckKey. Package verifier does the
// same without a model reader in the program, also for js/wasm.
func Verify(key *Key, r io.Reader, opts ...Option) (*Statement, error) {
	o := apply(opts)
	if err := o.checkSampling(); err != nil {
		return nil, err
	}
	result, err := o.policy.Verify(key, r)
	if err != nil {
		return nil, invalid(err)
	}
	return o.stated(key, result)
}

// VerifyFiles is ReadKey and Verify in one, for a key that is needed once: it takes less time.
func VerifyFiles(vk, r io.Reader, opts ...Option) (*Statement, error) {
	o := apply(opts)
	if err := o.checkSampling(); err != nil {
		return nil, err
	}
	key, result, err := o.policy.VerifyFiles(vk, r)
	if err != nil {
		return nil, invalid(err)
	}
	return o.stated(key, result)
}

func (o *options) checkSampling() error {
	if by := o.policy.Sampling; by != nil {
		return by.Validate()
	}
	return nil
}

// stated is the statement of a proof that holds, if it is the one asked for.
func (o *options) stated(key *Key, result *verifier.Result) (*Statement, error) {
	n := math.MaxInt
	if o.firstValues > 0 {
		n = o.firstValues
	}
	s := &Statement{
		Commitment: key.Digest, Strength: result.Strength, Bytes: result.Bytes,
		Inputs: statement.Inputs(result), Outputs: statement.FirstOutputs(result, n), Saturated: statement.Saturations(result),
		Written: result.Written, Text: key.Text,
	}
	if o.arrays != nil {
		arrays, err := o.arrays.For(asInputs(s.Inputs))
		if err != nil {
			return nil, fmt.Errorf("%w: %w: %w", ErrInvalid, ErrOtherInput, err)
		}
		if s.Clamped, err = statement.Compare(result, arrays.Names(), arrays.Data()); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}
	if o.certificate != nil {
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

// Package verdict is the verifier of a web page, with its requests and answers as Go types. It does
// not depend on JavaScript; web/wasm converts between JavaScript and these types.
package verdict

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/statement"
	"github.com/prove-model/prove-model/prover/verifier"
)

// Options are what the page asks of a proof.
type Options struct {
	MinBits int // the least bits of security that the proof must have
	// Commitment that the key must have, in 64 hexadecimal digits; any if it is nil.
	Commitment *string
	// Input that the proof must be about; any if it is nil.
	Input []statement.Array
	// Sampling is the rule by which the tokens must have been drawn; nil: none were.
	Sampling *Sampling
	// Tokenizer is the file of the key's tokenizer; nil without one.
	Tokenizer []byte
	// Vocabulary is the file of the key's vocabulary, which names outputs; nil without one.
	Vocabulary []byte
}

// Sampling is a rule for drawing tokens, with the decimal digits of its seed.
type Sampling struct {
	Seed string
	verifier.Sampling
}

// Verdict is what a valid proof states.
type Verdict struct {
	*verifier.Result
	Commitment string // of the key, in hexadecimal digits
	Clamped    int    // how many entries of the input that was asked for were clamped
	Outputs    []statement.Tensor
	Text       *Text // nil if the key is not a language model's, or if the proof is of several texts
	// Texts are the texts of a proof of several.
	Texts []*Text
	// Vocabulary is the digest of the key's vocabulary, in hexadecimal digits; empty if the model has numbers only, and no strings. That
	// inputs are the numbers of certain strings is not checked here.
	Vocabulary string
	HiddenFor  int // for how many proofs the key hides its weights; 0 if it does not hide them
}

// errOption is wrapped by errors about the options.
var errOption = errors.New("what is asked for cannot be understood")

// Of verifies a proof with a key; keyFile and proofFile are the contents of the files. It calls progress with the number
// of the proof's bytes that have been read, and their number in all.
func Of(keyFile, proofFile []byte, o *Options, progress func(read, size int)) (*Verdict, error) {
	policy, err := o.policy()
	if err != nil {
		return nil, err
	}
	key, err := proof.ReadKey(bytes.NewReader(keyFile), proof.MaxKeySize)
	if err != nil {
		return nil, err
	}
	result, err := policy.Verify(key, &follower{bytes.NewReader(proofFile), len(proofFile), 0, progress})
	if err != nil {
		return nil, err
	}
	v := &Verdict{Result: result, Commitment: hex.EncodeToString(key.Digest[:]), Outputs: statement.FirstOutputs(result, math.MaxInt), HiddenFor: key.Proofs()}
	if digest := key.Vocabulary(); digest != nil {
		v.Vocabulary = hex.EncodeToString(digest[:])
	}
	if o.Vocabulary != nil {
		words, err := statement.Vocabulary(key, o.Vocabulary)
		if err != nil {
			return nil, err
		}
		statement.Name(v.Outputs, words)
	}
	if o.Input != nil {
		if v.Clamped, err = statement.Compare(result, o.Input); err != nil {
			return nil, err
		}
	}
	if n := result.Circuit.Texts; n > 0 && key.Text() != nil {
		v.Texts, err = textsOf(key, result, v.Outputs, policy.Sampling, o.Tokenizer)
	} else {
		v.Text, err = textOf(key, result, v.Outputs, policy.Sampling, o.Tokenizer)
	}
	return v, err
}

// policy returns the policy of package verifier for the options.
func (o *Options) policy() (p verifier.Policy, err error) {
	p.MinBits = o.MinBits
	if o.Commitment != nil {
		digest, err := hex.DecodeString(*o.Commitment)
		if err != nil || len(digest) != 32 {
			return p, fmt.Errorf("%w: the commitment %q: want 64 hexadecimal digits", errOption, *o.Commitment)
		}
		p.Commitment = (*[32]byte)(digest)
	}
	if s := o.Sampling; s != nil {
		rule := s.Sampling
		if rule.Seed, err = strconv.ParseInt(s.Seed, 10, 64); err != nil {
			return p, fmt.Errorf("%w: the seed %q: want a whole number", errOption, s.Seed)
		}
		if err := rule.Validate(); err != nil {
			return p, fmt.Errorf("%w: %w", errOption, err)
		}
		p.Sampling = &rule
	}
	return p, nil
}

// Kind returns a word for the kind of reason for which a proof is not accepted. The page shows a text of its own for each.
func Kind(err error) string {
	var weak *verifier.WeakError
	switch {
	case errors.As(err, &weak):
		return "weak"
	case errors.Is(err, verifier.ErrOtherModel):
		return "model"
	case errors.Is(err, statement.ErrOtherInput):
		return "input"
	case errors.Is(err, verifier.ErrOtherToken):
		return "drawn"
	case errors.Is(err, statement.ErrVocabulary):
		return "vocabulary"
	case errors.Is(err, errTokenizer):
		return "tokenizer"
	case errors.Is(err, errOption):
		return "option"
	case errors.Is(err, proof.ErrMalformed):
		return "malformed"
	}
	return "proof"
}

// Reason is the text of an error without its first part, "proof is not valid" or the like, which the page shows anyway.
func Reason(err error) string {
	why := strings.TrimPrefix(err.Error(), verifier.ErrInvalid.Error()+": ")
	var weak *verifier.WeakError
	if errors.As(err, &weak) {
		return fmt.Sprintf("%s; a least of %d bits accepts it", why, weak.Accepts())
	}
	return why
}

// follower is a reader that calls progress with how much of the proof has been read.
type follower struct {
	io.Reader
	size, read int
	progress   func(read, size int)
}

func (f *follower) Read(b []byte) (int, error) {
	n, err := f.Reader.Read(b)
	f.read += n
	f.progress(f.read, f.size)
	return n, err
}

package verifier

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
)

// DefaultMinBits is the security, in bits, that a Policy with a MinBits of 0 asks for.
const DefaultMinBits = 100

// Policy is what a verifier demands of a proof and of its key. The key may come from the prover: without a Commitment it may be
// that of another model, and without MinBits it may ask for a security that is worth nothing. The zero value is for a key
// that is known to be the model's; it asks for DefaultMinBits.
type Policy struct {
	// MinBits is the least security that the weakest round may have, in bits, proofs of work
	// included. 0 means DefaultMinBits; 1 accepts every key.
	MinBits int
	// Commitment, if not nil, is the model commitment: the digest that the key must have (proof.Key.Digest).
	Commitment *[sha256.Size]byte
	// Sampling, if not nil, is the rule by which the tokens that a model generated must have
	// been drawn; it must be valid (Validate). If it is nil, each of these tokens must have the
	// greatest logit.
	Sampling *Sampling
}

// ErrOtherModel is wrapped, beside ErrInvalid, by the error for a key that is
// not the one of the model in question.
var ErrOtherModel = errors.New("the key is another model's")

// WeakError says that a key gives less security than is asked for. The error
// that holds it wraps ErrInvalid too.
type WeakError struct {
	Strength soundness.Strength // of the weakest round of the proof or link
	MinBits  int                // what the policy asks for
}

// Error gives both numbers.
func (e *WeakError) Error() string {
	return fmt.Sprintf("the key gives %v, and at least %d are asked for", e.Strength, e.MinBits)
}

// Accepts returns the largest MinBits with which the proof would pass.
func (e *WeakError) Accepts() int { return e.Strength.Total.Whole() }

// Verify verifies a proof as [Verify] does, and checks the policy.
func (p Policy) Verify(key *proof.Key, r io.Reader) (*Result, error) {
	return alone(p.verify(key, func() (*proof.Reader, error) { return proof.NewReader(r) }))
}

// VerifyFiles reads a key of at most proof.MaxKeySize bytes from vk, and verifies the proof in
// r against it. The result is that of proof.ReadKey and then Verify. It is faster, because the
// proof's header says at which sizes the key's circuit has to be built.
func (p Policy) VerifyFiles(vk, r io.Reader) (*proof.Key, *Result, error) {
	in, unread := openProof(r)
	var key *proof.Key
	var err error
	if unread == nil {
		key, err = proof.ReadKeyFor(vk, proof.MaxKeySize, in.Header())
	} else {
		key, err = proof.ReadKey(vk, proof.MaxKeySize)
	}
	if err != nil { // which comes before anything about the proof
		return nil, nil, err
	}
	result, err := alone(p.verify(key, func() (*proof.Reader, error) { return in, unread }))
	return key, result, err
}

// openProof is proof.NewReader for unchecked bytes: a panic becomes an error.
func openProof(r io.Reader) (in *proof.Reader, err error) {
	defer func() {
		if p := recover(); p != nil {
			in, err = nil, failedOn(p)
		}
	}()
	return proof.NewReader(r)
}

// verify checks the key's commitment, verifies the proof with the policy's rule for drawn tokens, and then checks that the weakest round
// is as strong as the policy demands.
func (p Policy) verify(key *proof.Key, open func() (*proof.Reader, error)) (*Result, error) {
	if p.Commitment != nil && *p.Commitment != key.Digest {
		return nil, fmt.Errorf("%w: %w: its commitment is %x, not %x", ErrInvalid, ErrOtherModel, key.Digest, *p.Commitment)
	}
	result, err := verify(key, open, p.Sampling, nil)
	if err != nil {
		return nil, err
	}
	least := p.MinBits
	if least == 0 {
		least = DefaultMinBits
	}
	if result.Strength.Total < soundness.WholeBits(least) {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, &WeakError{result.Strength, least})
	}
	return result, nil
}

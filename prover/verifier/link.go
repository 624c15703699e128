package verifier

import (
	"crypto/sha256"
	"fmt"
	"io"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// CheckLink reads the file of a link and verifies it as VerifyLink does. A minBits of 0 means DefaultMinBits.
func CheckLink(first, second *proof.Key, file io.Reader, minBits int) (soundness.Strength, error) {
	b, err := io.ReadAll(io.LimitReader(file, proof.MaxLinkSize+1))
	if err != nil {
		return soundness.Strength{}, err
	}
	if minBits == 0 {
		minBits = DefaultMinBits
	}
	l, err := proof.DecodeLink(b)
	if err != nil {
		return soundness.Strength{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return VerifyLink(first, second, l, minBits)
}

// VerifyLink checks a proof that two keys of one circuit, which both hide their weights, commit to the same weights
// (docs/protocol.md, "Links"). It returns the strength of the weakest round, which must be at least minBits. The prover chooses
// the levels of the opening, and LinkPlan checks only that they reach what the keys ask for, which may be little. An error that
// wraps ErrInvalid gives the reason.
func VerifyLink(first, second *proof.Key, l *proof.Link, minBits int) (strength soundness.Strength, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = failedOn(p)
		}
	}()
	if l.Keys != [2][sha256.Size]byte{first.Digest, second.Digest} {
		return strength, fmt.Errorf("%w: it links the keys of commitments %x and %x", ErrInvalid, l.Keys[0], l.Keys[1])
	}
	if len(l.Levels) == 0 {
		return strength, fmt.Errorf("%w: a link without parameters", ErrInvalid)
	}
	p, err := proof.LinkPlan(first, second, l.Levels)
	if err != nil {
		return strength, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if strength = p.Strength(); strength.Total < soundness.WholeBits(minBits) {
		return strength, fmt.Errorf("%w: %w", ErrInvalid, &WeakError{strength, minBits})
	}
	if len(l.Body)%transcript.LimbBytes != 0 {
		return strength, fmt.Errorf("%w: link: a stream that is no sequence of limbs", ErrInvalid)
	}
	r := transcript.NewReader(l.Statement(first), l.Body)
	// The third tree has the masks and the auxiliary row. Its root is absorbed before the point and the coefficient are drawn.
	roots := []hash.Digest{first.FixedTree().Root, second.FixedTree().Root, r.Digest()}
	point := r.Challenges(p.Vars())
	whir.Verify(r, p.Params, roots, p.Layouts(), p.RowOffsets(), p.Terms(point, r.Challenge()), field.Zero)
	if err := r.Done(); err != nil {
		return strength, fmt.Errorf("%w: link: %w", ErrInvalid, err)
	}
	return strength, nil
}

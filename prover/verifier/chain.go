package verifier

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

// A Chain is what the proofs of a text's segments state together. Their logits are those that the committed model gives for the whole
// text, from its beginning.
type Chain struct {
	// Segments are the results of the segments that have been verified, in order.
	Segments []*Result
	// From is the digest of the statement of the segment before Segments[0], which is not verified: the caller, who passed this
	// digest, vouches for it. It is zeros if Segments begin with the text.
	From [sha256.Size]byte
}

// ErrChain is wrapped, beside ErrInvalid, by the error about a segment that does not follow on the one before it.
var ErrChain = errors.New("the segments are not a chain")

// Chain verifies the proofs of consecutive segments of a text: each proof by itself, and that each segment follows on the one before
// (docs/protocol.md, "Chains of segments"). If from is nil, the first proof must be of the text's first segment. Otherwise from is
// the digest of the statement of the segment before proofs[0], and pinned is the proof of that segment. Only the statement of pinned
// is read; its proof is not verified. It must have the digest, which the caller vouches for, and with it for all earlier segments.
func (p Policy) Chain(key *proof.Key, from *[sha256.Size]byte, pinned io.Reader, proofs ...io.Reader) (*Chain, error) {
	if len(proofs) == 0 {
		return nil, fmt.Errorf("%w: %w: there is no segment", ErrInvalid, ErrChain)
	}
	c := &Chain{}
	var last *Result
	if from != nil {
		stated, err := stated(key, pinned, p.Sampling)
		if err != nil {
			return nil, fmt.Errorf("the segment that is pinned: %w", err)
		}
		if stated.Segment.Statement != *from {
			return nil, fmt.Errorf("%w: %w: the statement that is pinned is %x, and that of the segment is %x", ErrInvalid, ErrChain, *from, stated.Segment.Statement)
		}
		c.From, last = *from, stated
	}
	for i, r := range proofs {
		result, err := p.verify(key, func() (*proof.Reader, error) { return proof.NewReader(r) })
		if err == nil {
			err = follows(last, result, key.Text())
		}
		if err != nil {
			return nil, fmt.Errorf("segment %d: %w", i+1, err)
		}
		c.Segments, last = append(c.Segments, result), result
	}
	return c, nil
}

// follows checks that the segment next comes directly behind last, or is the first one if last is nil. It must name the digest of
// last's statement as its predecessor; the trees that it imports must be last's trees, record by record; and with Follows its
// first token must be the one that last's final logits choose. Without the second check a prover could import keys and values that no
// proof has forced; without the first, leave out or exchange a segment.
func follows(last, next *Result, text *proof.Text) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: %w: %s", ErrInvalid, ErrChain, fmt.Sprintf(format, args...))
	}
	s := next.Segment
	switch {
	case s == nil:
		return refuse("the proof is of no segment")
	case last == nil:
		if len(s.Past()) > 0 {
			return refuse("it comes behind %d others, and nothing before it is there", len(s.Past()))
		}
		return nil
	}
	before := last.Segment
	switch {
	case s.Predecessor != before.Statement:
		return refuse("it follows on the statement %x, and that of the segment before is %x", s.Predecessor, before.Statement)
	case !slices.Equal(s.Past(), before.Trees):
		return refuse("it names other keys and values of the segments before than they do")
	case !s.Follows:
		return nil
	}
	if first := next.Written.Tokens[0]; first != before.Next {
		return fmt.Errorf("%w: %w: %w: its first token is %d, and the model's is %d", ErrInvalid, ErrChain, ErrOtherToken, first, before.Next)
	}
	if last.Written.Ended {
		return refuse("it goes on after a text that has ended")
	}
	return nil
}

// StatementOf returns the digest of the statement of the segment that r has the proof of. The proof is not verified.
func StatementOf(key *proof.Key, r io.Reader) (digest [sha256.Size]byte, err error) {
	in, err := openProof(r)
	if err != nil {
		return digest, err
	}
	result, err := readStatement(key, in)
	if err != nil {
		return digest, err
	}
	return result.digest, nil
}

// readStatement reads header and public values of the proof of a segment, and checks them against the key. It does not verify the proof.
func readStatement(key *proof.Key, in *proof.Reader) (v *verification, err error) {
	defer func() {
		if p := recover(); p != nil {
			v, err = nil, failedOn(p)
		}
	}()
	if in.Header().Segment == nil {
		return nil, fmt.Errorf("%w: %w: the proof is of no segment", ErrInvalid, ErrChain)
	}
	g, err := key.GraphOf(in.Header())
	if err == nil {
		err = plan.CheckSizes(g)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	v = &verification{key: key, in: in, graph: g}
	in.Limit(proof.PublicLimits(g))
	return v, v.statement(g)
}

// stated reads the statement of a segment, and nothing behind it. The result says what the statement says, which holds only if
// somebody vouches for the statement's digest.
func stated(key *proof.Key, r io.Reader, by *Sampling) (*Result, error) {
	in, err := openProof(r)
	if err != nil {
		return nil, err
	}
	v, err := readStatement(key, in)
	if err != nil {
		return nil, err
	}
	list, segment, err := v.writtenSegment(by)
	if err != nil {
		return nil, err
	}
	return &Result{Inputs: v.inputs, Outputs: v.outputs, Circuit: v.graph, Segment: segment, Written: list[0]}, nil
}

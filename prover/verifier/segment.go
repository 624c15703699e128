package verifier

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/proof"
)

// Segment is what a valid proof of a segment of a text says of the segment's place in the text (docs/protocol.md, "Chains of
// segments"). It is conditional: it assumes that the roots in Trees, and the predecessor, are those of the earlier segments.
type Segment struct {
	// Statement is the digest of the segment's own statement.
	Statement [sha256.Size]byte
	// Predecessor is the digest of the statement of the segment before, zeros in the first segment.
	Predecessor [sha256.Size]byte
	// Key is the digest of the key, and Suite the hash suite of the key.
	Key   [sha256.Size]byte
	Suite hash.Suite
	// Trees has one tree of attention keys and values for each earlier segment, in order, and last that of this segment.
	Trees []proof.FirstTree
	// First is the position of the segment's first token: the sum of the lengths before.
	First int
	// Follows says that the first token must be the Next of the segment before. Chain checks that it is.
	Follows bool
	// Next is the token that the rule chooses from the logits at this segment's last token. It is not part of the segment.
	Next int
}

// ErrConditional is wrapped, beside ErrInvalid, by the error for the proof of a segment that passes all checks of its own, but rests
// on the proofs of earlier segments.
var ErrConditional = errors.New("it is of a part of a text and holds only with the parts before: verify the chain")

// alone refuses the proof of a segment that has earlier ones. Its prover may have imported keys and values under roots of its own
// choice, so by itself the proof says nothing of the text. The first segment imports nothing, and passes.
func alone(r *Result, err error) (*Result, error) {
	if err == nil && r.Segment != nil && len(r.Segment.Past()) > 0 {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, ErrConditional)
	}
	return r, err
}

// Segment verifies the proof of one segment, and the policy, without the segments before it. The result is conditional
// (Segment): it holds only if the caller knows that the trees and the predecessor that it names are those of the earlier segments.
func (p Policy) Segment(key *proof.Key, r io.Reader) (*Result, error) {
	result, err := p.verify(key, func() (*proof.Reader, error) { return openProof(r) })
	if err == nil && result.Segment == nil {
		return nil, fmt.Errorf("%w: %w: the proof is of no segment", ErrInvalid, ErrChain)
	}
	return result, err
}

// Own is the tree of the segment's own keys and values.
func (s *Segment) Own() proof.FirstTree { return s.Trees[len(s.Trees)-1] }

// Past are the trees of the earlier segments, empty in the first.
func (s *Segment) Past() []proof.FirstTree { return s.Trees[:len(s.Trees)-1] }

// writtenSegment checks the tokens of a segment. Logits are at its last positions, the last token's included (proof.Key.CheckStatement),
// so each token behind the first such position must be the one that the logits before it choose, and the last logits choose the
// token behind the segment (Next). With Follows the first token counts as written by the model too; that it is the one which the
// logits of the segment before choose is for Chain to check.
func (v *verification) writtenSegment(by *Sampling) ([]*Written, *Segment, error) {
	h, g := v.in.Header(), v.graph
	s := &Segment{
		Statement: v.digest, Predecessor: h.Segment.Predecessor, Key: h.Key, Suite: h.Hash, Trees: slices.Clone(h.Trees),
		First: g.Instance.Segment.Tokens(), Follows: h.Segment.Follows,
	}
	ids, n := v.inputs[0], len(v.inputs[1])
	from := len(ids) - n + 1 // the first token that follows from logits here
	chosen, err := chosenAt(by, g, v.outputs[0], n, s.First+from)
	if err != nil {
		return nil, nil, err
	}
	s.Next = chosen[n-1]
	w := &Written{Prompt: tokens(ids[:from]), Tokens: tokens(ids[from:]), Sampling: by}
	if err := w.check(v.key.Text(), chosen[:n-1]); err != nil {
		return nil, nil, err
	}
	if !s.Follows {
		return []*Written{w}, s, nil
	}
	if from > 1 {
		return nil, nil, fmt.Errorf("%w: the first token is the model's, and tokens that are not its own follow in one segment", ErrInvalid)
	}
	if len(w.Tokens) > 0 && slices.Contains(v.key.Text().Ends, w.Prompt[0]) {
		return nil, nil, fmt.Errorf("%w: the text goes on after token 0, %d, which ends it", ErrInvalid, w.Prompt[0])
	}
	w.Prompt, w.Tokens = []int{}, slices.Concat(w.Prompt, w.Tokens)
	w.Ended = slices.Contains(v.key.Text().Ends, w.Tokens[len(w.Tokens)-1])
	return []*Written{w}, s, nil
}

// chosenAt returns the tokens that a rule chooses at n positions: from the logits, or, if the statement has the indexes of the
// greatest logits in their place (Reveals), the first index of each list. out holds the entries of the statement's output.
// place is the place in the text, counted from 0, of the first of the tokens; the rule draws with it.
func chosenAt(by *Sampling, g *model.Graph, out []int32, n, place int) ([]int, error) {
	if n == 0 || len(out)%n != 0 || len(out) == 0 {
		return nil, fmt.Errorf("%w: %d logits at %d positions", ErrInvalid, len(out), n)
	}
	chosen := make([]int, n)
	if len(g.Reveals) > 0 {
		if by != nil {
			return nil, errNoLogits
		}
		greatest(out, chosen)
	} else {
		choose(by, out, g.Tensors[g.Outputs[0]].Frac, place, chosen)
	}
	return chosen, nil
}

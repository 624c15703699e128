// Package chain keeps what the prover needs for the next segment of a text: the attention keys and values of the segments before,
// and what their proofs have stated (docs/protocol.md, "Chains of segments").
package chain

import (
	"crypto/sha256"
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/prover"
	"github.com/prove-model/prove-model/prover/verifier"
)

// Chain is a text that is proved in segments. The proof of a segment attends to the earlier segments and does not prove them again.
// The zero value is a text without segments. A Chain must not be used by several goroutines at once.
type Chain struct {
	// By is the rule that draws tokens that the model writes; nil: each is the likeliest.
	By *verifier.Sampling

	past     []model.Past      // by segment: its length, and log2 of the row length of its tree
	values   [][]int32         // the keys and values of the first segment, tensor by tensor, then those of the next, and so on
	tokens   []int             // of all segments
	trees    []proof.FirstTree // by segment: the tree of its keys and values
	segments []stated          // by segment
}

// stated is what the proof of a segment states that the proof of the next segment needs.
type stated struct {
	statement [sha256.Size]byte // the digest of the statement
	leaves    int               // the token that the logits at the segment's last token choose (verifier.Segment.Next)
	ended     bool              // the segment's last token is the model's and ends the text
}

// last returns what the last segment states, or the zero value if there is no segment.
func (c *Chain) last() stated {
	if len(c.segments) == 0 {
		return stated{}
	}
	return c.segments[len(c.segments)-1]
}

// Segments returns the number of segments.
func (c *Chain) Segments() int { return len(c.past) }

// Tokens returns the tokens of the text so far.
func (c *Chain) Tokens() []int { return slices.Clone(c.tokens) }

// Ended says whether the model ended the text with the last token.
func (c *Chain) Ended() bool { return c.last().ended }

// Leaves returns the token that the logits at the last token of the text choose: the one with which the model goes on.
func (c *Chain) Leaves() int { return c.last().leaves }

// Follows says whether the next segment, if it begins with token, may state that the model wrote that token: it must be the one that
// the last segment leaves, and the text must not have ended.
func (c *Chain) Follows(token int) bool { return len(c.past) > 0 && !c.Ended() && token == c.Leaves() }

// Instance returns the instance of the next segment's circuit: a segment of tokens tokens, with logits at its last logits positions.
func (c *Chain) Instance(tokens, logits int) model.Instance {
	return model.Instance{Sizes: []int{tokens, logits}, Segment: &model.Segment{Past: slices.Clone(c.past)}}
}

// Values returns the keys and values of all segments, in the order in which the next segment's circuit imports them
// (model.Graph.Unmade).
func (c *Chain) Values() [][]int32 { return c.values }

// Next returns what the prover's options need for the next segment: its predecessor, the trees of all segments so far, and whether
// its first token is stated as the model's (Follows).
func (c *Chain) Next(follows bool) *prover.Segment {
	return &prover.Segment{Segment: proof.Segment{Predecessor: c.last().statement, Follows: follows}, Past: c.trees}
}

// Begin returns a chain of the first n segments, to which other segments may be added than to c.
func (c *Chain) Begin(n int) *Chain {
	of := &Chain{By: c.By, past: slices.Clone(c.past[:n]), trees: slices.Clone(c.trees[:n]), segments: slices.Clone(c.segments[:n])}
	of.tokens = slices.Clone(c.tokens[:(&model.Segment{Past: of.past}).Tokens()])
	if n > 0 {
		of.values = slices.Clone(c.values[:n*len(c.of(0))])
	}
	return of
}

// Shared returns how many of the chain's segments, from the first on, are a prefix of text.
func (c *Chain) Shared(text []int) int {
	at := 0
	for i, p := range c.past {
		end := at + p.Tokens
		if end > len(text) || !slices.Equal(c.tokens[at:end], text[at:end]) {
			return i
		}
		at = end
	}
	return len(c.past)
}

// Add adds a segment that has been proved. r is what its proof states, and own are the entries of its own keys and values, tensor by
// tensor.
func (c *Chain) Add(r *verifier.Result, own [][]int32) {
	s, ids := r.Segment, slices.Concat(r.Written.Prompt, r.Written.Tokens)
	c.past = append(c.past, model.Past{Tokens: len(ids), RowVars: s.Own().RowVars})
	c.values, c.tokens, c.trees = append(c.values, own...), append(c.tokens, ids...), s.Trees
	c.segments = append(c.segments, stated{s.Statement, s.Next, r.Written.Ended})
}

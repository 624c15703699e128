// Package chain keeps what the proof of a text's next segment rests on: keys and values of the segments before, and what their
// proofs have stated (docs/protocol.md, "Chains of segments").
package chain

import (
	"crypto/sha256"
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/prover"
	"github.com/prove-model/prove-model/prover/verifier"
)

// Chain is a text that is proved in segments, each by a proof that attends to the segments before and does not prove them again. The zero
// value is a text that begins. It is for one goroutine.
type Chain struct {
	// By is the rule by which its tokens are drawn; nil: each is the likeliest.
	By *verifier.Sampling

	past     []model.Past
	values   [][]int32
	tokens   []int
	trees    []proof.FirstTree
	segments []stated
}

// stated is what the proof of a segment says, and the next one's rests on.
type stated struct {
	statement [sha256.Size]byte // its digest
	leaves    int               // the token that it leaves to be chosen
	ended     bool              // the model ended the text with its last token
}

// last is what the last segment states, nothing before the first.
func (c *Chain) last() stated {
	if len(c.segments) == 0 {
		return stated{}
	}
	return c.segments[len(c.segments)-1]
}

// Segments returns how many there are.
func (c *Chain) Segments() int { return len(c.past) }

// Tokens are those of the text so far.
func (c *Chain) Tokens() []int { return slices.Clone(c.tokens) }

// Ended says whether the model ended the text with the last token.
func (c *Chain) Ended() bool { return c.last().ended }

// Leaves is the token that the last segment leaves to be chosen: the model goes on with it.
func (c *Chain) Leaves() int { return c.last().leaves }

// Follows says whether a segment may begin with a token as the model's own.
func (c *Chain) Follows(token int) bool { return len(c.past) > 0 && !c.Ended() && token == c.Leaves() }

// Instance is that of the next segment's circuit, of so many tokens and with logits at so many positions.
func (c *Chain) Instance(tokens, logits int) model.Instance {
	return model.Instance{Sizes: []int{tokens, logits}, Segment: &model.Segment{Past: slices.Clone(c.past)}}
}

// Values are keys and values of the segments before, as the next segment's circuit imports them (model.Graph.Unmade).
func (c *Chain) Values() [][]int32 { return c.values }

// Next is what the next segment's proof follows on.
func (c *Chain) Next(follows bool) *prover.Segment {
	return &prover.Segment{Segment: proof.Segment{Predecessor: c.last().statement, Follows: follows}, Past: c.trees}
}

// Begin returns the first n segments as a chain of its own, which may go on in another way.
func (c *Chain) Begin(n int) *Chain {
	of := &Chain{By: c.By, past: slices.Clone(c.past[:n]), trees: slices.Clone(c.trees[:n]), segments: slices.Clone(c.segments[:n])}
	of.tokens = slices.Clone(c.tokens[:(&model.Segment{Past: of.past}).Tokens()])
	if n > 0 {
		of.values = slices.Clone(c.values[:n*len(c.of(0))])
	}
	return of
}

// Shared returns how many segments, from the first on, a text begins with.
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

// Add adds a segment that has been proved, with the values of its own keys and values.
func (c *Chain) Add(r *verifier.Result, own [][]int32) {
	s, ids := r.Segment, slices.Concat(r.Written.Prompt, r.Written.Tokens)
	c.past = append(c.past, model.Past{Tokens: len(ids), RowVars: s.Own().RowVars})
	c.values, c.tokens, c.trees = append(c.values, own...), append(c.tokens, ids...), s.Trees
	c.segments = append(c.segments, stated{s.Statement, s.Next, r.Written.Ended})
}

package proof

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/proof/wire"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
)

// A FirstTree is what a header says of a tree of the opening beside those of the key and that of the witness: all that its root is
// of. Which tensors are under it follows from key and header (model.Graph.Apart). The transcript absorbs it with the header, before
// everything else.
type FirstTree struct {
	Root hash.Digest
	// RowVars is log2 of the length of a row, Rows their number, and the code of each is 2^LogBlowup times as long.
	RowVars, LogBlowup, Rows int
	// Tokens is the length of the segment whose keys and values are under the root.
	Tokens int
	// TailLog, of an input's tree and of no other, says that rows have tails of a 2^TailLog-th of their length. Input is 1 + the place of
	// the input among the key's, which is in units of 2^(−Frac).
	TailLog, Input, Frac int
}

// A Segment says that a proof is of a part of a text: its last tree is of the part's own keys and values, those before are of the parts before.
type Segment struct {
	// Predecessor is the digest of the statement of the segment before (Reader.Statement), zeros of the first one.
	Predecessor [sha256.Size]byte
	// Follows says that the first token is the one that the segment before leaves to be chosen from its last logits.
	Follows bool
}

// maxTrees bounds the trees of a header.
const maxTrees = model.MaxPast + 1

// checkTrees checks that a header's trees and what it says that it is go together.
func (h *Header) checkTrees() error {
	if h.Segment == nil {
		return h.checkInputTrees()
	}
	if len(h.Trees) == 0 {
		return errors.New("a segment without a tree of its own")
	}
	if h.TailLog != 0 {
		return fmt.Errorf("%w: of masked proofs", model.ErrSegment)
	}
	for i := range h.Trees {
		if t := &h.Trees[i]; t.TailLog != 0 || t.Input != 0 || t.Frac != 0 {
			return errors.New("a segment with a tree of an input")
		}
	}
	if n := h.Trees[len(h.Trees)-1].Tokens; len(h.Sizes) == 0 || n != h.Sizes[0] {
		return fmt.Errorf("the segment's own tree is of %d tokens, of sizes %v", n, h.Sizes)
	}
	first := h.Segment.Predecessor == [sha256.Size]byte{}
	if first != (len(h.Trees) == 1) {
		return fmt.Errorf("a segment behind %d others, with the predecessor %x", len(h.Trees)-1, h.Segment.Predecessor)
	}
	if first && h.Segment.Follows {
		return errors.New("the first segment follows none")
	}
	return nil
}

// checkInputTrees is checkTrees for a proof of no segment: its trees are of hidden inputs.
func (h *Header) checkInputTrees() error {
	for i := range h.Trees {
		switch t := &h.Trees[i]; {
		case t.Input == 0:
			return errors.New("the header names trees, and not what they are for")
		case t.Tokens != 0:
			return errors.New("the header names a tree of an input and of a segment")
		case t.TailLog < soundness.MinTailLog || t.TailLog > soundness.MaxTailLog:
			return fmt.Errorf("the tree of an input has tails of a 2^%d-th of a row", t.TailLog)
		}
	}
	return nil
}

// committed are the instance's.
func (h *Header) committed() (list []model.Committed) {
	for _, t := range h.Trees {
		if h.Segment == nil {
			list = append(list, model.Committed{Input: t.Input - 1, Frac: t.Frac, RowVars: t.RowVars, TailLog: t.TailLog})
		}
	}
	return list
}

// segment is the instance's.
func (h *Header) segment() *model.Segment {
	if h.Segment == nil || len(h.Trees) == 0 {
		return nil
	}
	s := &model.Segment{}
	for _, t := range h.Trees[:len(h.Trees)-1] {
		s.Past = append(s.Past, model.Past{Tokens: t.Tokens, RowVars: t.RowVars})
	}
	return s
}

// checkPlan checks what a header says of trees against the plan that follows from it: rows, and the rate of their code, are what the
// circuit makes them, so that a root means one thing.
func (h *Header) checkPlan(p *plan.Plan) error {
	trees := p.ApartTrees()
	if len(trees) != len(h.Trees) {
		return fmt.Errorf("the header names %d trees, and there are %d", len(h.Trees), len(trees))
	}
	for i := range trees {
		have := h.Trees[i]
		want := recordOf(have.Root, &trees[i], have.Tokens)
		want.TailLog, want.Input, want.Frac = have.TailLog, have.Input, have.Frac // which the circuit follows from
		if have != want {
			return fmt.Errorf("tree %d of the header has %d rows of 2^%d values at a rate of 2^-%d, and should have %d of 2^%d at 2^-%d",
				i, have.Rows, have.RowVars, have.LogBlowup, want.Rows, want.RowVars, want.LogBlowup)
		}
		if err := checkDigest(p.Config.Hash, have.Root); err != nil {
			return fmt.Errorf("root of tree %d of the header: %w", i, err)
		}
	}
	return nil
}

// recordOf is what a header says of a tree.
func recordOf(root hash.Digest, t *plan.Tree, tokens int) FirstTree {
	return FirstTree{Root: root, RowVars: t.RowVars, LogBlowup: t.LogBlowup, Rows: t.Rows(), Tokens: tokens}
}

// Name has the header of a segment say which roots its trees have, in order, and what it follows on.
func (h *Header) Name(p *plan.Plan, roots []hash.Digest, of Segment) error {
	s := p.Graph.Instance.Segment
	if s == nil || len(roots) != len(p.ApartTrees()) {
		return fmt.Errorf("%d roots of %d trees of a header", len(roots), len(p.ApartTrees()))
	}
	h.Segment, h.Trees = &of, nil
	for i, t := range p.ApartTrees() {
		tokens := h.Sizes[0]
		if i < len(s.Past) {
			tokens = s.Past[i].Tokens
		}
		h.Trees = append(h.Trees, recordOf(roots[i], &t, tokens))
	}
	return h.checkTrees()
}

// NameInputs has the header say which roots the trees of inputs have that were committed to, in order.
func (h *Header) NameInputs(p *plan.Plan, list []*InputCommitment) error {
	trees := p.ApartTrees()
	if len(list) != len(trees) {
		return fmt.Errorf("%d roots of %d trees of a header", len(list), len(trees))
	}
	h.Trees = nil
	for i, c := range list {
		t := recordOf(c.Root, &trees[i], 0)
		t.TailLog, t.Input, t.Frac = c.TailLog, 1+p.Graph.Instance.Committed[i].Input, c.Frac
		h.Trees = append(h.Trees, t)
	}
	return h.checkTrees()
}

// StatementDigest is what a successor's header calls the statement of a segment: a digest of the file up to the public values, these
// included, and so of the key, of all roots, of tokens and of what is stated of logits.
func StatementDigest(head [sha256.Size]byte) (d [sha256.Size]byte) {
	return sha256.Sum256(append([]byte("prove-model statement\n"), head[:]...))
}

// Statement returns the statement's digest when the public values, and nothing behind them, have been read.
func (p *Reader) Statement() (d [sha256.Size]byte) {
	p.sum.Sum(d[:0])
	return StatementDigest(d)
}

// Statement returns the statement's digest when the public values, and nothing behind them, have been written.
func (w *Writer) Statement() (d [sha256.Size]byte) {
	w.out.sum.Sum(d[:0])
	return StatementDigest(d)
}

var firstTreeMessage = wire.New("FirstTree", nil,
	rootField(1, func(t *FirstTree) *hash.Digest { return &t.Root }),
	wire.Num(2, "row_vars", count, func(t *FirstTree) *int { return &t.RowVars }),
	wire.Num(3, "log_blowup", count, func(t *FirstTree) *int { return &t.LogBlowup }),
	wire.Num(4, "rows", count, func(t *FirstTree) *int { return &t.Rows }),
	wire.Num(5, "tokens", count, func(t *FirstTree) *int { return &t.Tokens }),
	wire.Num(6, "tail_log", wire.Number{Kind: wire.Uint32, Most: soundness.MaxTailLog}, func(t *FirstTree) *int { return &t.TailLog }),
	wire.Num(7, "input", count, func(t *FirstTree) *int { return &t.Input }),
	wire.Num(8, "frac", exponent, func(t *FirstTree) *int { return &t.Frac }),
)

var segmentMessage = wire.New("Segment", nil,
	optionalSHA256(1, "predecessor", func(s *Segment) *[sha256.Size]byte { return &s.Predecessor }),
	wire.Flag(2, "first_token", func(s *Segment) *bool { return &s.Follows }),
)

package proof

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/proof/wire"
	"github.com/prove-model/prove-model/prover/protocol/plan"
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
		if len(h.Trees) > 0 {
			return errors.New("the header names trees, and not what they are for")
		}
		return nil
	}
	if len(h.Trees) == 0 {
		return errors.New("a segment without a tree of its own")
	}
	if h.TailLog != 0 {
		return fmt.Errorf("%w: of masked proofs", model.ErrSegment)
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
	wire.Data(1, "root", func(t *FirstTree) []byte { return appendDigest(nil, t.Root) },
		func(t *FirstTree, b []byte) (err error) {
			t.Root, err = decodeDigest(b)
			return err
		}).Needed(),
	wire.Num(2, "row_vars", count, func(t *FirstTree) *int { return &t.RowVars }),
	wire.Num(3, "log_blowup", count, func(t *FirstTree) *int { return &t.LogBlowup }),
	wire.Num(4, "rows", count, func(t *FirstTree) *int { return &t.Rows }),
	wire.Num(5, "tokens", count, func(t *FirstTree) *int { return &t.Tokens }),
	wire.Reserved[FirstTree](6, "tail_log"),
	wire.Reserved[FirstTree](7, "inputs"),
)

var segmentMessage = wire.New("Segment", nil,
	wire.Data(1, "predecessor", func(s *Segment) []byte {
		if s.Predecessor == [sha256.Size]byte{} {
			return nil
		}
		return s.Predecessor[:]
	}, func(s *Segment, b []byte) error {
		if err := setSHA256(&s.Predecessor, b); err != nil {
			return err
		}
		if s.Predecessor == [sha256.Size]byte{} {
			return errors.New("a digest of zeros, which is absent")
		}
		return nil
	}),
	wire.Flag(2, "first_token", func(s *Segment) *bool { return &s.Follows }),
)

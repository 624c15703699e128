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

// A FirstTree describes a tree that the opening opens besides the trees of the key and that of the witness: either the attention keys
// and values of a segment of a text, or a hidden input that was committed to. A header names these trees. The record has
// everything that the root depends on, except which tensors are under it: that follows from key and header (model.Graph.Apart).
// The transcript absorbs the record with the header, before everything else.
type FirstTree struct {
	Root hash.Digest
	// RowVars is log2 of the length of a row and Rows the number of rows. The code of each row is 2^LogBlowup times as long as the row.
	RowVars, LogBlowup, Rows int
	// Tokens is the length of the segment whose keys and values are under the root, 0 for an input.
	Tokens int
	// TailLog, Input and Frac are 0 unless the tree is that of an input. Its rows have tails of a 2^TailLog-th of their length. Input is
	// 1 + the place of the input among the key's inputs. The entries under the root are in units of 2^(−Frac).
	TailLog, Input, Frac int
}

// A Segment says that a proof is of a segment of a text. The last of the header's trees then has the segment's own keys and values,
// and the trees before it have those of the earlier segments, in order.
type Segment struct {
	// Predecessor is the digest of the statement of the segment before (Reader.Statement), zeros in the first segment.
	Predecessor [sha256.Size]byte
	// Follows says that the first token is the one that the last logits of the segment before choose (verifier.Segment.Next).
	Follows bool
}

// maxTrees bounds the trees of a header: those of earlier segments and the segment's own.
const maxTrees = model.MaxPast + 1

// checkTrees checks that a header's trees go with the rest of it. In a segment's header no tree is of an input, the last one is as
// long as the segment, and there is a predecessor if and only if there are trees of earlier segments: so no proof is taken for a
// first segment that imports keys and values. In any other header every tree is of an input.
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

// committed returns the inputs that were committed to, for the instance of the circuit (model.Instance.Committed). It subtracts the 1
// of FirstTree.Input.
func (h *Header) committed() (list []model.Committed) {
	for _, t := range h.Trees {
		if h.Segment == nil {
			list = append(list, model.Committed{Input: t.Input - 1, Frac: t.Frac, RowVars: t.RowVars, TailLog: t.TailLog})
		}
	}
	return list
}

// segment returns the earlier segments, for the instance of the circuit (model.Instance.Segment), or nil if the proof is of no segment.
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

// checkPlan checks the header's records of trees against the plan that follows from key and header. The number of rows and the rate
// of their code must be those that the plan gives the tree's tensors. So a root stands for one table: a prover cannot name the root
// of one proof in another one under a different reading.
func (h *Header) checkPlan(p *plan.Plan) error {
	trees := p.ApartTrees()
	if len(trees) != len(h.Trees) {
		return fmt.Errorf("the header names %d trees, and there are %d", len(h.Trees), len(trees))
	}
	for i := range trees {
		have := h.Trees[i]
		want := recordOf(have.Root, &trees[i], have.Tokens)
		want.TailLog, want.Input, want.Frac = have.TailLog, have.Input, have.Frac // the circuit was built from these (Header.Instance)
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

// recordOf returns the header's record of a tree of a plan. For an input's tree the caller adds TailLog, Input and Frac.
func recordOf(root hash.Digest, t *plan.Tree, tokens int) FirstTree {
	return FirstTree{Root: root, RowVars: t.RowVars, LogBlowup: t.LogBlowup, Rows: t.Rows(), Tokens: tokens}
}

// Name makes the header that of a segment: it sets Segment to of, and Trees to the records of the plan's trees with these roots, in
// order, the segment's own last.
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

// NameInputs sets Trees to the records of the input commitments in list, which are in the order of the plan's trees.
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

// StatementDigest returns the digest of a segment's statement, by which the next segment's header names it. head is the SHA-256 of the
// proof file up to the end of the public values. So the digest covers the key, all roots in the header, the tokens, and the logits
// or what is revealed of them. It does not cover the root of the witness.
func StatementDigest(head [sha256.Size]byte) (d [sha256.Size]byte) {
	return sha256.Sum256(append([]byte("prove-model statement\n"), head[:]...))
}

// Statement returns the digest of the statement (StatementDigest). It must be called after Public and before Next.
func (p *Reader) Statement() (d [sha256.Size]byte) {
	p.sum.Sum(d[:0])
	return StatementDigest(d)
}

// Statement returns the digest of the statement (StatementDigest). It must be called after WritePublic and before Write.
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

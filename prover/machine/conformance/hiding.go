package conformance

import (
	"fmt"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/prf"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// hidingCase is a hiding opening of two trees.
type hidingCase struct {
	mode    soundness.Mode
	rowVars [2]int
	tailLog int
	plain   bool // the first tree hides nothing
	chunks  int  // further stacks of the second tree, of one row each, that begin table rows of their own
}

// newHidden returns trees as newStacks does, which hide. Behind its stacks the second tree also has pads, masks in two
// groups, and the auxiliary row. The rows of its stacks have the shortest tails that are allowed.
func newHidden(t *testing.T, rng random, suite hash.Suite, h hidingCase) *stacks {
	s := &stacks{}
	add := func(bits int, shape ...int) model.TensorID { return s.add(rng, bits, shape...) }
	c := soundness.Config{TargetBits: 20, GrindBits: 4, LogBlowup: 2, Mode: h.mode, Hash: suite}
	stack := model.NewStack(&s.graph, []model.TensorID{add(8, 12, 33), add(16, 7), add(30, 3, 5, 6), add(8, 64, 16)})
	one, several := backend.SingleStack(suite, stack, h.rowVars[0], c.LogBlowup), s.several(suite, h.rowVars[1], c.LogBlowup, add)
	longest := max(h.rowVars[0], h.rowVars[1])
	shift := longest - h.rowVars[1]
	before := tableRows(&one, longest) + 1
	key := prf.Derive("conformance: hiding", []byte{byte(suite), byte(shift)})
	pads := rng.elements(1<<h.rowVars[1]/4 + 5) // a row and a part of one
	// put adds a group of n rows. It begins at a table row that is a multiple of align.
	put := func(n int, part backend.Part, align uint64) {
		row := (before+(several.Slots()+1<<shift-1)>>shift+align-1)/align*align - before
		several.Groups, several.Parts = append(several.Groups, whir.Group{First: row << shift, Rows: n}), append(several.Parts, part)
	}
	for range h.chunks {
		put(1, backend.Part{Stack: model.NewStack(&s.graph, []model.TensorID{add(8, 5)})}, 1)
	}
	put(2, backend.Part{Kind: backend.Pads, Stack: &model.Stack{Size: uint64(4 * len(pads))}}, 1)
	put(3<<shift, backend.Part{Kind: backend.Masks}, soundness.Masks)
	put((soundness.Masks-3)<<shift, backend.Part{Kind: backend.Masks, First: 3 << shift}, 1)
	end := before + tableRows(&several, longest)
	several.Groups, several.Parts = append(several.Groups, whir.Group{Rows: 1 << shift}), append(several.Parts, backend.Part{Kind: backend.Auxiliary})
	several.Auxiliary = true
	params := must(soundness.DeriveHiding(c, h.tailLog, longest, end))(t)
	params = must(soundness.CheckHiding(c, h.tailLog, params.Levels, end))(t)
	queries := params.Levels[0].Queries
	for k := range several.Groups {
		if several.Groups[k].Tail = queries; several.Parts[k].Kind >= backend.Masks {
			several.Groups[k].Tail = int(soundness.Budget(h.rowVars[1], h.tailLog))
		}
	}
	several.Secrets = &backend.Secrets{Key: key, Pads: pads}
	if !h.plain {
		for k := range one.Groups {
			one.Groups[k].Tail = int(soundness.Budget(h.rowVars[0], h.tailLog)) - 1
		}
		one.Secrets = &backend.Secrets{Key: prf.Derive("conformance: hiding", []byte("key"))}
	}
	s.opening = backend.Opening{Params: params, Commitments: []backend.Commitment{one, several}, RowOffsets: []uint64{0, before}}
	s.claim(rng)
	group := len(several.Groups) - 4 // the group of the pads: two of masks and the auxiliary row follow
	for i := range pads {
		if i%3 == 0 {
			coef := rng.element()
			s.terms = append(s.terms, whir.LimbsTerm(coef, 1, several.Groups[group].First<<h.rowVars[1]+uint64(4*i)))
			s.value = s.value.Add(coef.Mul(pads[i]))
		}
	}
	return s
}

// hiding tests openings that hide: with rows of one length and of two, the longer ones in either tree, with and without
// out-of-domain samples, with many stacks in a tree, and beside a tree that hides nothing. It runs the cases from … to−1.
func hiding(t *testing.T, open Open, suite hash.Suite, from, to int) {
	for i, c := range []hidingCase{
		{soundness.Unique, [2]int{8, 8}, 2, false, 0},
		{soundness.Johnson, [2]int{8, 9}, 3, false, 0},
		{soundness.Johnson, [2]int{10, 8}, 3, false, 20},
		{soundness.Unique, [2]int{8, 8}, 3, true, 0},
	} {
		if i >= from && i < to {
			newHidden(t, newRandom(uint64(60+i)), suite, c).open(t, open, fmt.Sprintf("%+v", c), i%2 == 1)
		}
	}
}

// FillTail implements whir.HidingSource.
func (f filled) FillTail(i int, dst []field.M31) {
	f.c.Secrets.Key.Elements(prf.Tail, uint64(i), 0, dst)
}

// FillSalts implements whir.HidingSource.
func (f filled) FillSalts(from uint64, dst []hash.Digest) { f.c.Secrets.Key.Salts(from, dst) }

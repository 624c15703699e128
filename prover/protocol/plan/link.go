package plan

import (
	"fmt"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// Link plans the proof that two roots are of the same fixed tensors (docs/protocol.md, "Links"). It is one hiding opening of both
// trees, and of a third one that has mask rows and an auxiliary row. For every block of the stack it shows that the block's MLEs
// under the two roots have the same value at a random point.
type Link struct {
	// Opened has the trees of the two keys, and that of the masks.
	Opened
	stack *model.Stack
}

// LinkedRows describes the rows of a tree that is linked: 2^RowVars values, with a tail of a 2^TailLog-th of that.
type LinkedRows struct{ RowVars, TailLog int }

// NewLink plans a link of two trees of a circuit's fixed tensors. The circuit has one stack of these. levels are the parameters
// of the opening; if levels is nil, they are chosen.
func NewLink(g *model.Graph, config soundness.Config, of [2]LinkedRows, levels []soundness.Level) (*Link, error) {
	if err := CheckSizes(g); err != nil {
		return nil, err
	}
	l := &Link{Opened: Opened{Trees: make([]Tree, 3)}, stack: model.NewStack(g, g.FixedStacks()[0])}
	longest, tailLog := max(of[0].RowVars, of[1].RowVars), min(of[0].TailLog, of[1].TailLog)
	slots := uint64(0)
	// add gives a tree its place: the next free table row whose number is a multiple of align.
	add := func(t *Tree, align uint64) {
		t.RowOffset = (slots + align - 1) / align * align
		shift := longest - t.RowVars
		slots = t.RowOffset + (t.Slots()+1<<shift-1)>>shift
	}
	for i, r := range of {
		if r.RowVars < 1 || r.RowVars > soundness.MaxLogDomain-config.LogBlowup {
			return nil, fmt.Errorf("fixed tensors: rows of 2^%d values", r.RowVars)
		}
		if _, err := rowsOf(l.stack, r.RowVars); err != nil {
			return nil, err
		}
		t := &l.Trees[i]
		*t = Tree{Commitment: backend.SingleStack(config.Hash, l.stack, r.RowVars, config.LogBlowup), Fixed: true}
		for k := range t.Groups {
			t.Groups[k].Tail = int(soundness.Budget(r.RowVars, r.TailLog))
		}
		add(t, 1)
	}
	tail := int(soundness.Budget(longest, tailLog))
	masks := &l.Trees[2]
	masks.Layout = whir.Layout{Hash: config.Hash, RowVars: longest, LogBlowup: config.LogBlowup, Auxiliary: true,
		Groups: []whir.Group{{Rows: soundness.Masks, Tail: tail}, {Rows: 1, Tail: tail}}}
	masks.Parts = []backend.Part{{Kind: backend.Masks}, {Kind: backend.Auxiliary}}
	add(masks, soundness.Masks)
	var err error
	if l.Params, err = openingParams(config, true, tailLog, levels, longest, slots); err != nil {
		return nil, err
	}
	for i, r := range of {
		if t := l.Trees[i].Groups[0].Tail; t < l.Params.Levels[0].Queries {
			return nil, fmt.Errorf("rows of 2^%d values are too short to hide them at %d positions", r.RowVars, l.Params.Levels[0].Queries)
		}
	}
	if err := reach(l.rounds(), config); err != nil {
		return nil, err
	}
	return l, nil
}

// Vars returns the number of coordinates of the random point: as many as the largest block has variables.
func (l *Link) Vars() int {
	vars := 0
	for i := range l.stack.Blocks {
		vars = max(vars, l.stack.Blocks[i].Bits)
	}
	return vars
}

// Terms returns the terms of the functional that a link opens: Σ_i zeta^i·(A_i~ − B_i~), where A_i and B_i are block i of the two
// trees, each at the last coordinates of the point. Its value is zero.
func (l *Link) Terms(point []field.QM31, zeta field.QM31) whir.List {
	terms := make(whir.List, 0, 2*len(l.stack.Blocks))
	for i, power := range field.Powers(field.One, zeta, len(l.stack.Blocks)) {
		b := &l.stack.Blocks[i]
		at := point[len(point)-b.Bits:]
		terms = append(terms,
			whir.Term{Coef: power, Tree: 0, Offset: b.Offset, Point: at},
			whir.Term{Coef: power.Neg(), Tree: 1, Offset: b.Offset, Point: at})
	}
	return terms
}

// Strength returns the security of the proof of a link.
func (l *Link) Strength() soundness.Strength { return soundness.Weakest(l.rounds()) }

func (l *Link) rounds() []soundness.Round {
	return append([]soundness.Round{
		soundness.Point("differences of weights", uint64(max(1, l.Vars()))),
		soundness.Join("join of differences", uint64(len(l.stack.Blocks))),
	}, l.Params.Rounds()...)
}

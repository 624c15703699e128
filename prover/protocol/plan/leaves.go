package plan

import (
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// NewLeaves lays out the look-up tree of those of the given steps that are look-ups, and of
// the tables that mults are the multiplicities of (docs/protocol.md, "Look-ups", 2). Blocks are
// stacked by decreasing size, so that each is aligned and nothing is padded. Those of one
// size are in the order of the steps, then of a step's blocks, and those of tables are last.
func NewLeaves(g *model.Graph, steps []int, mults []*model.Mult) backend.Leaves {
	var l backend.Leaves
	var cuts model.Cuts
	var order model.BySize
	lookUps, n := 0, 0
	for _, i := range steps {
		if g.Steps[i].Kind == model.StepLookup {
			lookUps++
		}
	}
	l.Steps = make([]backend.LeafStep, 0, lookUps)
	boxes := make([][]model.Box, 0, lookUps) // by place in l.Steps
	for _, i := range steps {
		st := &g.Steps[i]
		if st.Kind != model.StepLookup {
			continue
		}
		own := cuts.Of(st.Shape)
		l.Steps = append(l.Steps, backend.LeafStep{Step: i, Table: st.Table})
		boxes = append(boxes, own)
		n += len(own)
		for j := range own {
			order.Count(own[j].Bits)
		}
	}
	l.Tables = make([]backend.LeafTable, len(mults))
	rows := make([]model.Box, len(mults))
	for i, m := range mults {
		rows[i].Bits = g.Tables[m.Table].Bits
		order.Count(rows[i].Bits)
		l.Tables[i] = backend.LeafTable{Table: m.Table, Mult: m.Tensor, Block: backend.LeafBlock{Box: &rows[i]}}
	}
	l.Size = int(order.Size())
	place := func(b *backend.LeafBlock) {
		_, offset := order.Next(b.Bits)
		b.Offset = int(offset)
	}
	blocks := make([]backend.LeafBlock, n)
	for i, own := range boxes {
		list := blocks[:len(own):len(own)]
		blocks = blocks[len(own):]
		for j := range own {
			list[j].Box = &own[j]
			place(&list[j])
		}
		l.Steps[i].Blocks = list
	}
	for i := range l.Tables {
		place(&l.Tables[i].Block)
	}
	return l
}

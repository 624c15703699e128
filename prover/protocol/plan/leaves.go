package plan

import (
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// NewLeaves lays out the look-up tree of the given look-up steps and of the tables
// that they use. Blocks are stacked by decreasing size, those of one size in the
// order of steps, of a step's blocks, and of tables, so that each is aligned and
// nothing is padded.
func NewLeaves(g *model.Graph, steps []int, mults []*model.Mult) backend.Leaves {
	var l backend.Leaves
	var cuts model.Cuts
	var order model.BySize
	boxes, n := make([][]model.Box, len(steps)), 0 // of the steps that look up
	for k, i := range steps {
		if st := &g.Steps[i]; st.Kind == model.StepLookup {
			boxes[k] = cuts.Of(st.Shape)
			l.Steps = append(l.Steps, backend.LeafStep{Step: i, Table: st.Table})
		}
		n += len(boxes[k])
		for j := range boxes[k] {
			order.Count(boxes[k][j].Bits)
		}
	}
	for _, m := range mults {
		b := g.Tables[m.Table].Bits
		order.Count(b)
		l.Tables = append(l.Tables, backend.LeafTable{Table: m.Table, Mult: m.Tensor, Block: backend.LeafBlock{Bits: b}})
	}
	l.Size = int(order.Size())
	place := func(b *backend.LeafBlock) {
		_, offset := order.Next(b.Bits)
		b.Offset = int(offset)
	}
	blocks, at := make([]backend.LeafBlock, n), 0
	for _, own := range boxes {
		if own == nil {
			continue
		}
		list := blocks[:len(own):len(own)]
		blocks = blocks[len(own):]
		for j, b := range own {
			list[j] = backend.LeafBlock{Parts: b.Parts, Bits: b.Bits}
			place(&list[j])
		}
		l.Steps[at].Blocks = list
		at++
	}
	for i := range l.Tables {
		place(&l.Tables[i].Block)
	}
	return l
}

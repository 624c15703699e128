package plan

import (
	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/model"
)

// NewLeaves lays out a look-up tree of the given steps that look up and of the
// tables in use. Blocks are stacked by decreasing size, those of one size in the
// order of steps, of a step's blocks, and of tables, so that each is aligned and
// nothing is padded.
func NewLeaves(g *model.Graph, steps []int, mults []*model.Mult) backend.Leaves {
	var l backend.Leaves
	count := len(mults) // of blocks
	for _, i := range steps {
		st := &g.Steps[i]
		if st.Kind != model.StepLookup {
			continue
		}
		s := backend.LeafStep{Step: i, Table: st.Table, Blocks: make([]backend.LeafBlock, 0, model.Blocks(st.Shape))}
		for _, parts := range model.Cut(st.Shape) {
			s.Blocks = append(s.Blocks, backend.LeafBlock{Parts: parts, Bits: model.PartBits(parts)})
		}
		count += len(s.Blocks)
		l.Steps = append(l.Steps, s)
	}
	for _, m := range mults {
		l.Tables = append(l.Tables, backend.LeafTable{Table: m.Table, Mult: m.Tensor, Block: backend.LeafBlock{Bits: g.Tables[m.Table].Bits}})
	}
	blocks := make([]*backend.LeafBlock, 0, count)
	for i := range l.Steps {
		for k := range l.Steps[i].Blocks {
			blocks = append(blocks, &l.Steps[i].Blocks[k])
		}
	}
	for i := range l.Tables {
		blocks = append(blocks, &l.Tables[i].Block)
	}
	for _, b := range model.BySize(blocks, func(b **backend.LeafBlock) int { return (*b).Bits }) {
		b.Offset = l.Size
		l.Size += 1 << b.Bits
	}
	return l
}

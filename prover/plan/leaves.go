package plan

import (
	"sort"

	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/model"
)

// NewLeaves lays out a look-up tree: one block for each of the given steps that
// looks up and for each table in use, by decreasing size, so that every block is
// aligned.
func NewLeaves(g *model.Graph, steps []int, mults []*model.Mult) backend.Leaves {
	var l backend.Leaves
	for _, i := range steps {
		if st := &g.Steps[i]; st.Kind == model.StepLookup {
			l.Blocks = append(l.Blocks, backend.LeafBlock{
				Bits: model.Vars(st.Shape), Step: i, Table: st.Table, Mult: model.None,
			})
		}
	}
	for _, m := range mults {
		l.Blocks = append(l.Blocks, backend.LeafBlock{
			Bits: g.Tables[m.Table].Bits, Step: -1, Table: m.Table, Mult: m.Tensor,
		})
	}
	sort.SliceStable(l.Blocks, func(i, j int) bool { return l.Blocks[i].Bits > l.Blocks[j].Bits })
	for i := range l.Blocks {
		l.Blocks[i].Offset = l.Size
		l.Size += 1 << l.Blocks[i].Bits
	}
	return l
}

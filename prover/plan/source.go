package plan

import "github.com/prove-model/prove-model/prover/model"

// Source gives the rows of a tree's stack to the commitment scheme.
type Source struct {
	graph   *model.Graph
	tree    *Tree
	rowVars int
	data    [][]int32
}

// NewSource returns the rows of t, with the dense values of its tensors.
func (p *Plan) NewSource(t *Tree, values func(model.TensorID) []int32) *Source {
	s := &Source{p.Graph, t, p.Params.RowVars(), make([][]int32, len(p.Graph.Tensors))}
	for _, id := range t.Tensors {
		s.data[id] = values(id)
	}
	return s
}

// Rows implements whir.RowSource.
func (s *Source) Rows() int { return s.tree.Rows }

// FillRow implements whir.RowSource.
func (s *Source) FillRow(i int, dst []int32) {
	s.tree.Stack.Fill(s.graph, s.data, uint64(i)<<s.rowVars, dst)
}

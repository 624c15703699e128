package cpu

import (
	"context"

	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/whir"
)

// Commit implements backend.Backend.
func (b *Backend) Commit(ctx context.Context, s backend.Stack) (*whir.Tree, error) {
	return whir.Commit(ctx, s.RowVars, s.LogBlowup, NewRows(b.g, b.w, s))
}

// Opening implements backend.Backend.
func (b *Backend) Opening(ctx context.Context, o backend.Opening) (whir.Passes, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	srcs := make([]whir.RowSource, len(o.Stacks))
	for i, s := range o.Stacks {
		srcs[i] = NewRows(b.g, b.w, s)
	}
	return whir.NewPasses(o.Params, srcs, o.RowOffsets), nil
}

// Rows gives the rows of a stack to the commitment scheme.
type Rows struct {
	graph *model.Graph
	stack backend.Stack
	data  [][]int32
}

var _ whir.RowSource = (*Rows)(nil)

// NewRows returns the rows of a stack of g's tensors with the values of w.
func NewRows(g *model.Graph, w backend.Witness, s backend.Stack) *Rows {
	r := &Rows{g, s, make([][]int32, len(g.Tensors))}
	for id := range s.Layout.ByTensor {
		r.data[id] = w.Tensor(id)
	}
	return r
}

// Rows implements whir.RowSource.
func (r *Rows) Rows() int { return r.stack.Rows }

// FillRow implements whir.RowSource.
func (r *Rows) FillRow(i int, dst []int32) {
	r.stack.Layout.Fill(r.graph, r.data, uint64(i)<<r.stack.RowVars, dst)
}

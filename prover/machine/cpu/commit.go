package cpu

import (
	"context"
	"sort"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// Commit implements backend.Backend.
func (b *Backend) Commit(ctx context.Context, c backend.Commitment) (*whir.Tree, error) {
	return whir.Commit(ctx, c.Layout, NewRows(b.g, b.w, c))
}

// Opening implements backend.Backend.
func (b *Backend) Opening(ctx context.Context, o backend.Opening) (whir.Passes, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	layouts, srcs := make([]whir.Layout, len(o.Commitments)), make([]whir.RowSource, len(o.Commitments))
	for i, c := range o.Commitments {
		layouts[i], srcs[i] = c.Layout, NewRows(b.g, b.w, c)
	}
	return whir.NewPassesIn(b.a, o.Params, layouts, srcs, o.RowOffsets), nil
}

// Rows gives the rows of a commitment to package whir.
type Rows struct {
	graph *model.Graph
	c     backend.Commitment
	data  []ints.Ints
	ends  []int // of the groups, in rows of the commitment
}

var _ whir.RowSource = (*Rows)(nil)

// NewRows returns the rows of stacks of g's tensors with the values of w.
func NewRows(g *model.Graph, w backend.Witness, c backend.Commitment) *Rows {
	r := &Rows{g, c, make([]ints.Ints, len(g.Tensors)), make([]int, len(c.Groups))}
	end := 0
	for i, p := range c.Parts {
		for _, id := range p.Stack.Tensors {
			r.data[id] = backend.Values(g, w, id)
		}
		end += c.Groups[i].Rows
		r.ends[i] = end
	}
	return r
}

// Rows implements whir.RowSource.
func (r *Rows) Rows() int { return r.c.Rows() }

// FillRow implements whir.RowSource.
func (r *Rows) FillRow(i, from int, dst []int32) {
	group := sort.SearchInts(r.ends, i+1)
	p := &r.c.Parts[group]
	row := p.First + i - (r.ends[group] - r.c.Groups[group].Rows)
	p.Stack.Fill(r.graph, r.data, uint64(row)<<r.c.RowVars+uint64(from), dst)
}

package cpu

import (
	"context"
	"sort"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/math/prf"
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
	return whir.NewPasses(b.a, o.Params, layouts, srcs, o.RowOffsets), nil
}

// Rows provides the rows of a commitment to package whir.
type Rows struct {
	graph *model.Graph
	c     backend.Commitment
	data  []ints.Ints // by tensor; nil for tensors that are not in the commitment
	ends  []int       // by group: the number of rows up to its end
}

var _ whir.HidingSource = (*Rows)(nil)

// NewRows returns the rows of a commitment to tensors of g, with the values of w.
func NewRows(g *model.Graph, w backend.Witness, c backend.Commitment) *Rows {
	r := &Rows{g, c, make([]ints.Ints, len(g.Tensors)), make([]int, len(c.Groups))}
	end := 0
	for i, p := range c.Parts {
		if p.Kind == backend.Tensors {
			for _, id := range p.Stack.Tensors {
				r.data[id] = backend.Values(g, w, id)
			}
		}
		end += c.Groups[i].Rows
		r.ends[i] = end
	}
	return r
}

// Rows implements whir.RowSource.
func (r *Rows) Rows() int { return r.c.Rows() }

// FillRow implements whir.RowSource: it sets dst to the values of row i from number `from` on.
func (r *Rows) FillRow(i, from int, dst []int32) {
	group := sort.SearchInts(r.ends, i+1)
	p := &r.c.Parts[group]
	row := p.First + i - (r.ends[group] - r.c.Groups[group].Rows)
	switch p.Kind {
	case backend.Pads:
		fillLimbs(dst, r.c.Secrets.Pads, row<<r.c.RowVars+from)
		return
	case backend.Masks:
		r.c.Secrets.Key.Ints(prf.Mask, uint64(i), uint64(from), dst)
		return
	case backend.Auxiliary:
		r.c.Secrets.Key.Ints(prf.Auxiliary, uint64(i), uint64(from), dst)
		return
	}
	p.Stack.Fill(r.graph, r.data, uint64(row)<<r.c.RowVars+uint64(from), dst)
}

// FillTail implements whir.HidingSource.
func (r *Rows) FillTail(i int, dst []field.M31) {
	r.c.Secrets.Key.Elements(prf.Tail, uint64(i), 0, dst)
}

// FillSalts implements whir.HidingSource.
func (r *Rows) FillSalts(from uint64, dst []hash.Digest) { r.c.Secrets.Key.Salts(from, dst) }

// fillLimbs sets dst to limbs of elements, four an element, from limb number `from` on, followed by zeros.
func fillLimbs(dst []int32, elements []field.QM31, from int) {
	clear(dst)
	for k := range dst {
		at := from + k
		if at/4 >= len(elements) {
			return
		}
		dst[k] = int32(elements[at/4].Limbs()[at%4].Int64())
	}
}

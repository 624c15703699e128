package plan

import (
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Product is a product of tensors in the form that the protocol uses
// (docs/protocol.md, "Products"). At a point ρ of its output the product is
//
//	mask · Σ_{b,k} eq(ρ_b, b) · A~(b, k, ρ_A) · B~(b, k, ρ_B),
//
// where b runs over the batch axes and k over the contracted ones.
type Product struct {
	model.Contraction
	Out    []int         // the output's shape
	Summed []model.Label // the sum's axes in the order of its variables: batch first
	Vars   int           // number of variables of the sum

	keepA, keepB []int // the axes of A and of B that the labels in Summed are, in their order
}

// newProduct returns the Product for a product of the circuit whose output has shape out.
func newProduct(g *model.Graph, p *model.Product, out []int) *Product {
	c := &Product{Contraction: *model.NewContraction(p, g.Tensors[p.A].Shape, g.Tensors[p.B].Shape, out), Out: out}
	c.Summed = append(append(c.Summed, c.Batch...), c.Sum...)
	// Labels of output axes are smaller than those of contracted ones.
	slices.SortFunc(c.Summed, func(a, b model.Label) int { return a.ID - b.ID })
	for _, l := range c.Summed {
		c.Vars += model.Log2Ceil(l.Dim)
		c.keepA, c.keepB = append(c.keepA, l.A), append(c.keepB, l.B)
	}
	return c
}

// at returns the sum for a product at a point rho of its output. rankA and rankB are the numbers of axes of the two tensors.
func (c *Product) at(p *model.Product, rankA, rankB int, rho Point, room *room) Sum {
	parts := room.split(c.Out, rho)
	n := 0
	for _, l := range c.Batch {
		n += len(parts[l.Out])
	}
	s := Sum{Vars: c.Vars, Eq: carve(&room.coords, n)[:0],
		A: Operand{Tensor: p.A, Bound: carve(&room.points, rankA), Keep: c.keepA},
		B: Operand{Tensor: p.B, Bound: carve(&room.points, rankB), Keep: c.keepB}}
	for _, l := range c.Batch {
		s.Eq = append(s.Eq, parts[l.Out]...)
	}
	for _, l := range c.FreeA {
		s.A.Bound[l.A] = bound(parts[l.Out])
	}
	for _, l := range c.FreeB {
		s.B.Bound[l.B] = bound(parts[l.Out])
	}
	return s
}

// bound returns the part of a point that an axis is bound to. An axis of one entry has no coordinates: then the result is empty
// but not nil, as nil would say that the axis is not bound (Operand.Bound).
func bound(part Point) Point {
	if len(part) == 0 {
		return Point{}
	}
	return part
}

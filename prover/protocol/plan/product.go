package plan

import (
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/poly"
)

// Product is a product of tensors in the form that the protocol uses
// (docs/protocol.md, "Products"): at a point ρ of its output,
//
//	mask · Σ_{b,k} eq(ρ_b, b) · A~(b, k, ρ_A) · B~(b, k, ρ_B),
//
// b over the batch axes and k over the contracted ones.
type Product struct {
	model.Contraction
	Out    []int         // the output's shape
	Summed []model.Label // the sum's axes in the order of its variables: batch first
	Vars   int           // of the sum
}

func newProduct(g *model.Graph, p *model.Product, out []int) *Product {
	c := &Product{Contraction: *model.NewContraction(p, g.Tensors[p.A].Shape, g.Tensors[p.B].Shape, out), Out: out}
	c.Summed = append(append(c.Summed, c.Batch...), c.Sum...)
	// Labels of output axes are smaller than those of contracted ones.
	slices.SortFunc(c.Summed, func(a, b model.Label) int { return a.ID - b.ID })
	for _, l := range c.Summed {
		c.Vars += model.Log2Ceil(l.Dim)
	}
	return c
}

// eq returns the coordinates of ρ on the batch axes.
func (c *Product) eq(rho Point) Point {
	parts := poly.SplitAxes(c.Out, rho)
	var eq Point
	for _, l := range c.Batch {
		eq = append(eq, parts[l.Out]...)
	}
	return eq
}

// operandA and operandB describe the operands at ρ.
func (c *Product) operandA(id model.TensorID, shape []int, rho Point) Operand {
	return c.operand(id, shape, rho, c.FreeA, func(l model.Label) int { return l.A })
}

func (c *Product) operandB(id model.TensorID, shape []int, rho Point) Operand {
	return c.operand(id, shape, rho, c.FreeB, func(l model.Label) int { return l.B })
}

func (c *Product) operand(id model.TensorID, shape []int, rho Point, free []model.Label, axis func(model.Label) int) Operand {
	o := Operand{Tensor: id, Bound: make([]Point, len(shape))}
	parts := poly.SplitAxes(c.Out, rho)
	for _, l := range free {
		o.Bound[axis(l)] = Point{}
		if part := parts[l.Out]; len(part) > 0 {
			o.Bound[axis(l)] = part
		}
	}
	for _, l := range c.Summed {
		o.Keep = append(o.Keep, axis(l))
	}
	return o
}

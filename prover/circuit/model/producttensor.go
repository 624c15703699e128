package model

import (
	"errors"
	"fmt"
)

// errProduct is the reason why a circuit has the product of a product, or a view of one: what a step multiplies
// would have a degree above 3 in what is committed to.
var errProduct = errors.New("it is an operand of a step's product with a tensor that is none, and nothing else")

// IsProduct reports whether a tensor is a virtual one that is defined by a product.
//
// Such a tensor is Z[…] = A[…]·B[…], entry by entry; an operand repeats along the axes that it lacks. The only use of Z
// is as an operand of a step's product with a third tensor (docs/protocol.md, "Products of three"). In a layer of
// experts A says which experts a token chooses, B is what they read, and the third tensor has their weights. A run
// skips the entries at which A is 0: its time grows with the experts that are chosen, not with all.
func (g *Graph) IsProduct(id TensorID) bool { return g.Tensors[id].Product != nil }

// validateProductTensor checks the product that defines a tensor: of two that come before it and are no products,
// without a factor or a sum, and with no axis that neither has.
func (g *Graph) validateProductTensor(id TensorID) error {
	t := &g.Tensors[id]
	p := t.Product
	if p.A >= id || p.B >= id {
		return errors.New("definition looks ahead")
	}
	if err := g.validateProduct(p, t.Shape); err != nil {
		return fmt.Errorf("product: %w", err)
	}
	if g.IsProduct(p.A) || g.IsProduct(p.B) {
		return fmt.Errorf("product of tensors %d and %d: %w", p.A, p.B, errProduct)
	}
	var has [maxLabels]bool
	for _, labels := range [][]int{p.LabelsA, p.LabelsB} {
		for _, l := range labels {
			has[l] = true
		}
	}
	for l, is := range has {
		if is != (l < len(t.Shape)) {
			return fmt.Errorf("label %d: the axes of the operands are all those of the product", l)
		}
	}
	if p.Coef != 1 {
		return fmt.Errorf("product with the factor %d", p.Coef)
	}
	return nil
}

// Terms returns how many terms a run computes of each sum of a product with an output of a shape: of one with an
// operand that is itself a product, those of one entry by which it is chosen.
func (g *Graph) Terms(p *Product, out []int) int {
	n := 1
	chosen := func(l int) bool {
		for _, op := range []struct {
			id     TensorID
			labels []int
		}{{p.A, p.LabelsA}, {p.B, p.LabelsB}} {
			if q := g.Tensors[op.id].Product; q != nil {
				for _, axis := range q.LabelsA {
					if op.labels[axis] == l {
						return true
					}
				}
			}
		}
		return false
	}
	for i, l := range p.LabelsA {
		if l >= len(out) && !chosen(l) {
			n *= g.Tensors[p.A].Shape[i]
		}
	}
	return n
}

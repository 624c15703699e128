package model

import (
	"errors"
	"fmt"
)

// errProduct is wrapped by the error about a circuit that uses a tensor which is defined by a product in another way than as an operand
// of a step's product. Such a use, as in a product of two products, could have a degree above 3 in committed tensors.
var errProduct = errors.New("it is an operand of a step's product with a tensor that is none, and nothing else")

// IsProduct reports whether a tensor is a virtual one that is defined by a product.
//
// Such a tensor is Z[…] = A[…]·B[…], entry by entry; an operand repeats along the axes that it lacks. Z may only be
// used as an operand of a step's product with a third tensor (docs/protocol.md, "Products of three"). In a layer of
// experts A says which experts a token chooses, B is the experts' input, and the third tensor has their weights. A run
// skips the entries at which A is 0, so its time grows with the number of chosen experts, not with that of all.
func (g *Graph) IsProduct(id TensorID) bool { return g.Tensors[id].Product != nil }

// validateProductTensor checks the product that defines a tensor: its operands come before it and are no products themselves; its
// coefficient is 1; nothing is contracted; and every axis of the tensor is one of an operand.
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

// Terms returns how many terms a run computes for each entry of a product whose output has shape out: the product of the contracted
// dimensions. If an operand is itself a product Z = A·B, the contracted axes of A do not count, as A is 1 at one index of these and 0 at
// all others.
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

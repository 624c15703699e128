package model

import "slices"

// Label is one label of a product (Product.LabelsA): its number, the dimension of the axes that have it, and which axis of A, of B and of
// the output that is, −1 if none has it.
type Label struct {
	ID, Dim   int
	A, B, Out int
}

// Contraction has a product's labels by where they occur.
type Contraction struct {
	Batch  []Label // in both operands and the output, by output axis
	FreeA  []Label // in A and the output, by axis of A
	FreeB  []Label // in B and the output, by axis of B
	Sum    []Label // in both operands and not in the output, by axis of A
	Repeat []Label // in the output alone, by output axis: along it the product repeats
}

// NewContraction analyses a valid product of operands of shapes a and b with an
// output of shape out.
func NewContraction(p *Product, a, b, out []int) *Contraction {
	c := &Contraction{}
	label := func(id, dim int) Label {
		l := Label{id, dim, slices.Index(p.LabelsA, id), slices.Index(p.LabelsB, id), -1}
		if id < len(out) {
			l.Out = id
		}
		return l
	}
	for id, d := range out {
		switch l := label(id, d); {
		case l.A >= 0 && l.B >= 0:
			c.Batch = append(c.Batch, l)
		case l.A < 0 && l.B < 0:
			c.Repeat = append(c.Repeat, l)
		}
	}
	for i, id := range p.LabelsA {
		switch l := label(id, a[i]); {
		case l.Out < 0:
			c.Sum = append(c.Sum, l)
		case l.B < 0:
			c.FreeA = append(c.FreeA, l)
		}
	}
	for i, id := range p.LabelsB {
		if l := label(id, b[i]); l.A < 0 {
			c.FreeB = append(c.FreeB, l)
		}
	}
	return c
}

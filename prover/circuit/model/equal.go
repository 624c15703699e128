package model

import "slices"

// equal reports whether two accumulators have the same terms in the same order. A
// nil list equals an empty one.
func (a *Acc) equal(b *Acc) bool {
	return a.Const == b.Const && slices.EqualFunc(a.Linear, b.Linear, Linear.equal) && slices.EqualFunc(a.Products, b.Products, Product.equal)
}

func (l Linear) equal(o Linear) bool {
	if l.Coef != o.Coef || l.Src != o.Src || (l.View == nil) != (o.View == nil) {
		return false
	}
	return l.View == o.View || l.View.Fill == o.View.Fill && slices.EqualFunc(l.View.Groups, o.View.Groups, Group.equal)
}

func (g Group) equal(o Group) bool {
	return g.Map == o.Map && g.Base == o.Base && slices.Equal(g.Out, o.Out) && slices.Equal(g.In, o.In) &&
		slices.Equal(g.Strides, o.Strides) && slices.Equal(g.Sum, o.Sum) && slices.Equal(g.Index, o.Index) && g.Ids == o.Ids
}

func (p Product) equal(o Product) bool { return p.Coef == o.Coef && p.Same(o) }

// Same reports whether two products differ at most in their coefficients.
func (p Product) Same(o Product) bool {
	return p.A == o.A && p.B == o.B && slices.Equal(p.LabelsA, o.LabelsA) && slices.Equal(p.LabelsB, o.LabelsB)
}

// SameView reports whether two views wire the same entries in the same way.
func SameView(a, b *View) bool {
	return Linear{View: a}.equal(Linear{View: b})
}

// SameValues reports whether two tensors have the same kind, shape and definition,
// a sum or a product, or formula.
func (t *Tensor) SameValues(o *Tensor) bool {
	return t.Kind == o.Kind && slices.Equal(t.Shape, o.Shape) && (t.Formula == nil) == (o.Formula == nil) &&
		(t.Formula == nil || *t.Formula == *o.Formula) && slices.EqualFunc(t.Def, o.Def, Linear.equal) &&
		(t.Product == nil) == (o.Product == nil) && (t.Product == nil || t.Product.equal(*o.Product))
}

// SameRows reports whether two tables have the same rows. Values in fixed tensors count as the same
// only if it is the same tensor.
func (t *Table) SameRows(o *Table) bool {
	return t.Kind == o.Kind && t.Bits == o.Bits && t.Min == o.Min && t.Drop == o.Drop && t.Values == o.Values && slices.Equal(t.Pieces, o.Pieces)
}

// Same reports whether two steps compute and constrain the same.
func (s *Step) Same(o *Step) bool {
	return s.Kind == o.Kind && s.is(o.Shape, &o.Acc) && s.Shift == o.Shift &&
		s.Lo == o.Lo && s.Table == o.Table && s.Out == o.Out && s.Den == o.Den
}

package model

import "slices"

// equal reports whether two accumulators have the same terms in the same order.
// A list that is nil is one that is empty.
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

func (p Product) equal(o Product) bool {
	return p.Coef == o.Coef && p.A == o.A && p.B == o.B && slices.Equal(p.LabelsA, o.LabelsA) && slices.Equal(p.LabelsB, o.LabelsB)
}

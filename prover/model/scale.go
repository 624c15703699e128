package model

import "slices"

// factors are the products of sizes that scales stand for.
type factors []int

// of returns the number that n with the scale s stands for.
func (f factors) of(n int, s Scale) int {
	for i, size := range f {
		if s>>i&1 == 1 {
			n *= size
		}
	}
	return n
}

func (f factors) shape(shape []int, scales []Scale) []int {
	if scales == nil {
		return shape
	}
	out := make([]int, len(shape))
	for i, d := range shape {
		out[i] = f.of(d, scales[i])
	}
	return out
}

// terms returns summands without scales; those that have none already are
// shared, not copied.
func (f factors) terms(terms []Linear) []Linear {
	scaled := func(l Linear) bool { return l.View != nil && slices.ContainsFunc(l.View.Groups, Group.scales) }
	if !slices.ContainsFunc(terms, scaled) {
		return terms
	}
	out := slices.Clone(terms)
	for i := range out {
		if scaled(out[i]) {
			v := *out[i].View
			v.Groups = slices.Clone(v.Groups)
			for j := range v.Groups {
				f.group(&v.Groups[j])
			}
			out[i].View = &v
		}
	}
	return out
}

// scales reports whether a number of the group has a scale.
func (g Group) scales() bool {
	return g.BaseScale != 0 || slices.ContainsFunc(g.Sum, func(s SumIndex) bool { return s.Scale != 0 })
}

func (f factors) group(g *Group) {
	g.Base, g.BaseScale = f.of(g.Base, g.BaseScale), 0
	g.Sum = slices.Clone(g.Sum)
	for i := range g.Sum {
		s := &g.Sum[i]
		s.Dim, s.Scale = f.of(s.Dim, s.Scale), 0
	}
}

// graph returns the template's circuit at these sizes, without layout. What
// does not scale is shared.
func (t *Template) graph(sizes []int) *Graph {
	f := factors(sizes)
	g := *t.Graph
	// With room for the multiplicities of a few chunks.
	g.Tensors = append(make([]Tensor, 0, len(g.Tensors)+2*len(g.Tables)), g.Tensors...)
	for i := range g.Tensors {
		t := &g.Tensors[i]
		t.Shape, t.Scales, t.Def = f.shape(t.Shape, t.Scales), nil, f.terms(t.Def)
	}
	g.Steps = slices.Clone(g.Steps)
	for i := range g.Steps {
		s := &g.Steps[i]
		s.Shape, s.Scales, s.Acc.Linear = f.shape(s.Shape, s.Scales), nil, f.terms(s.Acc.Linear)
	}
	return &g
}

package model

import "slices"

// factors has the sizes of the free dimensions. It replaces scaled numbers by the numbers that they stand for.
type factors []int

// shapeRoom is how many dimensions of shapes are allocated at a time.
const shapeRoom = 1 << 9

// of returns the number that n with the scale s stands for.
func (f factors) of(n int, s Scale) int {
	for i, size := range f {
		if s>>i&1 == 1 {
			n *= size
		}
	}
	return n
}

// shape returns the shape that a shape with these scales stands for. It returns shape itself if nothing scales.
func (f factors) shape(shape []int, scales []Scale) []int {
	if scales == nil {
		return shape
	}
	room := make([]int, len(shape))
	return f.shapeIn(&room, shape, scales)
}

// shapeIn is shape with memory for the result taken from room, which it replaces if it is too small.
func (f factors) shapeIn(room *[]int, shape []int, scales []Scale) []int {
	if scales == nil {
		return shape
	}
	n := len(shape)
	if n > len(*room) {
		*room = make([]int, max(n, shapeRoom))
	}
	out := (*room)[:n:n]
	*room = (*room)[n:]
	for i, d := range shape {
		out[i] = f.of(d, scales[i])
	}
	return out
}

// terms returns the summands with all scales replaced. Summands without scales are
// shared with the argument, not copied.
func (f factors) terms(terms []Linear) []Linear {
	if !slices.ContainsFunc(terms, func(l Linear) bool { return l.View.scales() }) {
		return terms
	}
	out := slices.Clone(terms)
	for i := range out {
		if out[i].View.scales() {
			v := out[i].View.Clone()
			for j := range v.Groups {
				f.group(&v.Groups[j])
			}
			out[i].View = v
		}
	}
	return out
}

// scales reports whether a number of a view, which may be nil, has a scale.
func (v *View) scales() bool {
	if v == nil {
		return false
	}
	for i := range v.Groups {
		g := &v.Groups[i]
		if g.BaseScale != 0 || slices.ContainsFunc(g.Sum, func(s SumIndex) bool { return s.Scale != 0 }) {
			return true
		}
	}
	return false
}

func (f factors) group(g *Group) {
	g.Base, g.BaseScale = f.of(g.Base, g.BaseScale), 0
	g.Sum = slices.Clone(g.Sum)
	for i := range g.Sum {
		s := &g.Sum[i]
		s.Dim, s.Scale = f.of(s.Dim, s.Scale), 0
	}
}

// graph returns the template's circuit at the given sizes, without layout. It reuses
// the memory of old, a circuit that is not used any more, if that is not nil. Parts
// that do not scale are shared with the template.
func (t *Template) graph(old *Graph, sizes []int) *Graph {
	f := factors(sizes)
	g := *t.Graph
	var room []int
	if old == nil {
		// The extra room is for the multiplicities of about four chunks.
		old = &Graph{Tensors: make([]Tensor, 0, len(g.Tensors)+4*len(g.Tables))}
	}
	g.Tensors = append(old.Tensors[:0], g.Tensors...)
	for i := range g.Tensors {
		t := &g.Tensors[i]
		t.Shape, t.Scales, t.Def = f.shapeIn(&room, t.Shape, t.Scales), nil, f.terms(t.Def)
	}
	g.Steps = append(old.Steps[:0], g.Steps...)
	for i := range g.Steps {
		s := &g.Steps[i]
		s.Shape, s.Scales, s.Acc.Linear = f.shapeIn(&room, s.Shape, s.Scales), nil, f.terms(s.Acc.Linear)
	}
	return &g
}

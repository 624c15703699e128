package model

import (
	"fmt"
	"slices"
)

// IsIds reports whether a view uses the entries of an input as indexes.
func (g *Graph) IsIds(id TensorID) bool {
	for l := range g.terms {
		if l.View != nil && l.View.reads(id) {
			return true
		}
	}
	return false
}

// wired returns the inputs whose entries some view uses as indexes (IsIds).
func (g *Graph) wired() map[TensorID]bool {
	ids := map[TensorID]bool{}
	for l := range g.terms {
		if l.View == nil {
			continue
		}
		for i := range l.View.Groups {
			if group := &l.View.Groups[i]; group.Map == MapPublic {
				ids[group.Ids] = true
			}
		}
	}
	return ids
}

// indexed returns the length of the axes into which the entries of an input are indexes. It returns
// 0 if the input is also read in another way, or is an output, or if the axes have different lengths.
func (g *Graph) indexed(id TensorID) int {
	length := 0 // 0: no axis yet; −1: no common length
	for l := range g.terms {
		if l.Src == id {
			length = -1
		}
		if l.View == nil {
			continue
		}
		for i := range l.View.Groups {
			if group := &l.View.Groups[i]; group.Map == MapPublic && group.Ids == id {
				if n := g.Tensors[l.Src].Shape[group.In[0]]; length == 0 || length == n {
					length = n
				} else {
					length = -1
				}
			}
		}
	}
	for i := range g.Tensors {
		if p := g.Tensors[i].Product; p != nil && (p.A == id || p.B == id) {
			length = -1
		}
	}
	for i := range g.Steps {
		for _, p := range g.Steps[i].Acc.Products {
			if p.A == id || p.B == id {
				length = -1
			}
		}
	}
	if slices.Contains(g.Outputs, id) {
		length = -1
	}
	return max(length, 0)
}

// terms yields every summand that is a view: of virtual tensors and of accumulators.
func (g *Graph) terms(yield func(l *Linear) bool) {
	for i := range len(g.Tensors) + len(g.Steps) {
		var terms []Linear
		if i < len(g.Tensors) {
			terms = g.Tensors[i].Def
		} else {
			terms = g.Steps[i-len(g.Tensors)].Acc.Linear
		}
		for j := range terms {
			if !yield(&terms[j]) {
				return
			}
		}
	}
}

// reads reports whether a group of the view is wired by the entries of the input id.
func (v *View) reads(id TensorID) bool {
	return slices.ContainsFunc(v.Groups, func(g Group) bool { return g.Map == MapPublic && g.Ids == id })
}

// isPublic reports whether the view, which may be nil, has a group that public indexes wire.
func (v *View) isPublic() bool {
	return v != nil && slices.ContainsFunc(v.Groups, func(g Group) bool { return g.Map == MapPublic })
}

// isPublic reports whether some view has a group that public indexes wire.
func (g *Graph) isPublic() bool {
	for l := range g.terms {
		if l.View.isPublic() {
			return true
		}
	}
	return false
}

// WithIds returns the graph with the entries of index inputs filled into the views that they wire, or g itself if there are no
// such views. Only in the returned graph can such views be applied and their wired pairs listed. inputs has the entries of all
// inputs, in the order of g.Inputs. Each entry must be within the range of its tensor. The graph keeps the slices.
func (g *Graph) WithIds(inputs [][]int32) *Graph {
	if !g.isPublic() {
		return g
	}
	values := make([][]int32, len(g.Tensors))
	for i, id := range g.Inputs {
		values[id] = inputs[i]
	}
	bound := *g
	bound.Tensors, bound.Steps = slices.Clone(g.Tensors), slices.Clone(g.Steps)
	for i := range bound.Tensors {
		bound.Tensors[i].Def = withIds(g.Tensors[i].Def, values)
	}
	for i := range bound.Steps {
		bound.Steps[i].Acc.Linear = withIds(g.Steps[i].Acc.Linear, values)
	}
	return &bound
}

// withIds returns the summands with the indexes filled in. It copies only what changes.
func withIds(terms []Linear, values [][]int32) []Linear {
	if !slices.ContainsFunc(terms, func(l Linear) bool { return l.View.isPublic() }) {
		return terms
	}
	terms = slices.Clone(terms)
	for i := range terms {
		if !terms[i].View.isPublic() {
			continue
		}
		v := terms[i].View.Clone()
		for j := range v.Groups {
			v.Groups[j] = v.Groups[j].WithIds(func(id TensorID) []int32 { return values[id] })
		}
		terms[i].View = v
	}
	return terms
}

// WithIds returns the group with Entries set, if an input wires it. values returns the entries of an input.
func (g Group) WithIds(values func(TensorID) []int32) Group {
	if g.Map == MapPublic {
		g.Entries = values(g.Ids)
	}
	return g
}

// validateIds checks that the input which wires the group has one entry for each output of the group, and that every value
// in its range is an index of the source axis. The reader of a proof checks that stated entries are within that range. So no statement
// can wire an entry beyond the axis.
func (g *Group) validateIds(tensors []Tensor, out, in []int) error {
	if len(g.In) != 1 || g.Ids < 0 || int(g.Ids) >= len(tensors) || tensors[g.Ids].Kind != Input {
		return fmt.Errorf("view: tensor %d, which is to wire one axis, is no input", g.Ids)
	}
	t := &tensors[g.Ids]
	// Both are valid shapes, and Out has been checked, so nothing overflows.
	if n := Size(t.Shape); n != sizeOf(out, g.Out) {
		return fmt.Errorf("view: %d public indexes wire %d entries", n, sizeOf(out, g.Out))
	}
	if n := in[g.In[0]]; t.Min < 0 || t.Max >= int64(n) {
		return fmt.Errorf("view: public indexes in [%d, %d] of an axis of %d", t.Min, t.Max, n)
	}
	return nil
}

// CheckIds checks, at the given sizes, that index inputs pick only entries that exist. Each index must be within the range of its
// tensor, which the caller has checked. The range alone is not enough. It does not depend on a size, since indexes may read a
// virtual tensor of fixed length that continues a source of free length with zeros. CheckIds makes sure that no index picks one of
// these zeros.
func (t *Template) CheckIds(sizes []int, inputs [][]int32) error {
	// The shortest axis that each input's entries are indexes of. Views may be many, and entries too, so that no entry is looked at for
	// each view.
	shortest := map[TensorID]int{}
	l := lengths{t: t, f: sizes, known: map[tensorAxis]length{}}
	for term := range t.Graph.terms {
		if term.View == nil {
			continue
		}
		for i := range term.View.Groups {
			if group := &term.View.Groups[i]; group.Map == MapPublic {
				n := l.of(term.Src, group.In[0]).n
				if least, ok := shortest[group.Ids]; !ok || n < least {
					shortest[group.Ids] = n
				}
			}
		}
	}
	for i, id := range t.Graph.Inputs {
		n, ok := shortest[id]
		if !ok {
			continue
		}
		for k, at := range inputs[i] {
			if int(at) >= n {
				return fmt.Errorf("entry %d of input %q is %d, an index of an axis of %d", k, t.Graph.Tensors[id].Name, at, n)
			}
		}
	}
	return nil
}

// lengths finds, at some sizes, how many indexes of an axis of a template's tensor have entries of their own, and are not
// only zeros behind the end of a shorter source.
type lengths struct {
	t     *Template
	f     factors               // the sizes
	known map[tensorAxis]length // results of the method of
}

type tensorAxis struct {
	id   TensorID
	axis int
}

// length is the number n of indexes of an axis that have entries. free says whether it depends on a size.
type length struct {
	n    int
	free bool
}

// of returns the length of an axis. That is its dimension, except for an axis of fixed dimension of a virtual tensor whose summands
// all continue an axis of their sources (longest). If one of these lengths depends on a size, the length of the axis is at
// most the longest of them.
func (l *lengths) of(id TensorID, axis int) length {
	key := tensorAxis{id, axis}
	if known, ok := l.known[key]; ok {
		return known
	}
	x := &l.t.Graph.Tensors[id]
	own := length{n: l.f.shape(x.Shape, x.Scales)[axis], free: x.Scales != nil && x.Scales[axis] != 0}
	if !own.free && x.Kind == Virtual {
		if longest, ok := l.longest(x.Def, axis); ok && longest.free {
			own = length{min(own.n, longest.n), true}
		}
	}
	l.known[key] = own
	return own
}

// longest returns the greatest length of the source axes that an axis of a sum follows. ok is false unless it follows one
// in each summand.
func (l *lengths) longest(terms []Linear, axis int) (longest length, ok bool) {
	for i := range terms {
		from := axis
		if v := terms[i].View; v != nil {
			k := slices.IndexFunc(v.Groups, func(g Group) bool { return slices.Contains(g.Out, axis) })
			if !v.Groups[k].follows() {
				return length{}, false
			}
			from = v.Groups[k].In[0]
		}
		one := l.of(terms[i].Src, from)
		longest = length{max(longest.n, one.n), longest.free || one.free}
	}
	return longest, true
}

// follows reports whether index o of the group's one output axis is index o of its one source axis.
func (g *Group) follows() bool {
	return g.Map == MapAffine && len(g.Out) == 1 && len(g.In) == 1 && g.Base == 0 && g.Strides[0] == 1 && len(g.Sum) == 0
}

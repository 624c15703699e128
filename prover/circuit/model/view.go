package model

import "slices"

// View is a linear map between tensors that is a product over groups of axes (docs/protocol.md, "Wiring").
// Each output entry is the sum of the source entries that it is wired to, or Fill if it is wired to none.
// Every output axis and every source axis belongs to exactly one group.
type View struct {
	Groups []Group
	// Fill is the value of output entries that are wired to nothing (padding).
	// It may be non-zero only if no group sums, so that each entry is wired to
	// at most one source entry.
	Fill int64
}

// Group wires some output axes to some source axes.
type Group struct {
	Out []int // output axes, in the order that Strides uses
	In  []int // source axes, ascending and adjacent
	Map MapKind
	// MapAffine: In has one axis or none. Output indexes o_j are wired to the source index
	// Base + Σ_j Strides[j]·o_j + Σ_k Sum[k].Stride·i_k, for all summed indexes i_k, where that is
	// within the source axis. With no source axis the result repeats along the output axes.
	Base      int
	BaseScale Scale // in a template: the scale of Base
	Strides   []int // one for each axis in Out
	Sum       []SumIndex
	// MapIndex: one output axis and one source axis. Index[o] is the source index that o is wired to, or −1 for none.
	Index []int
	// MapPublic: one source axis. Ids is the input whose entries are the source indexes, one for each
	// combination of indexes of the output axes, row-major. Entries has the values of that input after
	// Graph.WithIds; before that, as in a key, it is nil.
	Ids     TensorID
	Entries []int32
}

// SumIndex is an index i in [0, Dim) that is summed over, with its stride. In a
// template Dim may have a scale.
type SumIndex struct {
	Dim, Stride int
	Scale       Scale
}

// MapKind is the kind of wiring of a group.
type MapKind uint8

const (
	// MapAffine is slices, strides, pads, windows, broadcasts and sums.
	MapAffine MapKind = iota
	// MapIndex is an arbitrary function of one axis (gather with constant indexes).
	MapIndex
	// MapReshape wires equal row-major indexes over the axes of Out and of In.
	MapReshape
	// MapPublic is an arbitrary function of several axes, which a public input of the statement
	// lists (gather with public indexes).
	MapPublic
)

// SameIndexes returns the identity on tensors with axes axes, as a view with one affine group for each axis.
func SameIndexes(axes int) *View {
	v := &View{}
	for a := range axes {
		v.Groups = append(v.Groups, Group{Out: []int{a}, In: []int{a}, Strides: []int{1}})
	}
	return v
}

// Axes returns 0, 1, …, n−1: all axes of a tensor of rank n.
func Axes(n int) []int {
	axes := make([]int, n)
	for a := range axes {
		axes[a] = a
	}
	return axes
}

// Clone returns a copy of the view with its own groups. The slices in the groups are shared.
func (v *View) Clone() *View {
	return &View{Groups: slices.Clone(v.Groups), Fill: v.Fill}
}

// Trivial reports whether the group's MLE merely renames variables: the
// claim at a point of the output axes is a claim at the same coordinates of
// the source axes. Axes of dimension 1 have no variables and do not matter.
func (g *Group) Trivial(out, in []int) bool {
	switch g.Map {
	case MapAffine:
		if len(g.Sum) != 0 || g.Base != 0 {
			return false
		}
		// A shorter output cuts entries off. A longer one within the same power of two
		// only adds zeros of the padding.
		do, di, stride := 1, 1, 1
		for j, a := range g.Out {
			if out[a] > 1 && do > 1 {
				return false
			}
			if out[a] > 1 {
				do, stride = out[a], g.Strides[j]
			}
		}
		if len(g.In) == 1 {
			di = in[g.In[0]]
		}
		return stride == 1 && do >= di && Log2Ceil(do) == Log2Ceil(di)
	case MapReshape:
		// Merging and splitting axes is renaming if only the leading axis of
		// each side is not a power of two.
		vo, okOut := mergeable(g.Out, out)
		vi, okIn := mergeable(g.In, in)
		return okOut && okIn && vo == vi
	}
	return false
}

// mergeable returns the number of variables of the given axes and whether all
// but the first that is longer than 1 are powers of two.
func mergeable(axes, shape []int) (vars int, ok bool) {
	for _, a := range axes {
		d := shape[a]
		if vars > 0 && d&(d-1) != 0 {
			return 0, false
		}
		vars += Log2Ceil(d)
	}
	return vars, true
}

// ForEach calls f(out, in) for every wired pair of indexes of the group,
// row-major within the group's output and source axes.
func (g *Group) ForEach(out, in []int, f func(o, i int)) {
	g.ForEachOf(out, in, 0, sizeOf(out, g.Out), f)
}

// ForEachOf is ForEach for the outputs in [from, to).
func (g *Group) ForEachOf(out, in []int, from, to int, f func(o, i int)) {
	switch g.Map {
	case MapReshape:
		for i := from; i < to; i++ {
			f(i, i)
		}
	case MapIndex:
		for o, i := range g.Index[from:to] {
			if i >= 0 {
				f(from+o, i)
			}
		}
	case MapPublic:
		for o, i := range g.Entries[from:to] {
			f(from+o, int(i))
		}
	case MapAffine:
		g.forEachAffine(out, in, from, to, f)
	}
}

// forEachAffine is ForEachOf for MapAffine.
func (g *Group) forEachAffine(out, in []int, from, to int, f func(o, i int)) {
	dim := 1 // of the source
	if len(g.In) == 1 {
		dim = in[g.In[0]]
	}
	var sum func(level, o, i int)
	sum = func(level, o, i int) {
		if level == len(g.Sum) {
			if i >= 0 && i < dim {
				f(o, i)
			}
			return
		}
		s := g.Sum[level]
		for k := range s.Dim {
			sum(level+1, o, i+k*s.Stride)
		}
	}
	c := g.walk(out, from)
	for o := from; o < to; o++ {
		if len(g.Sum) > 0 {
			sum(0, o, c.at)
		} else if c.at >= 0 && c.at < dim {
			f(o, c.at)
		}
		c.next()
	}
}

// walk goes through the outputs of an affine group in row-major order.
type walk struct {
	g     *Group
	out   []int // the shape of the output tensor
	index []int // the current output's index on each axis of g.Out
	at    int   // the source index that the current output is wired to, with all summed indexes 0
}

// walk returns a walk that begins at output number from.
func (g *Group) walk(out []int, from int) walk {
	w := walk{g, out, make([]int, len(g.Out)), g.Base}
	for j := len(g.Out) - 1; j >= 0; j-- {
		d := out[g.Out[j]]
		w.index[j], from = from%d, from/d
		w.at += w.index[j] * g.Strides[j]
	}
	return w
}

// next goes on to the next output.
func (w *walk) next() {
	for j := len(w.index) - 1; j >= 0; j-- {
		w.at += w.g.Strides[j]
		if w.index[j]++; w.index[j] < w.out[w.g.Out[j]] {
			break
		}
		w.at -= w.index[j] * w.g.Strides[j]
		w.index[j] = 0
	}
}

// Bases sets dst[k] to the source index that output from + k is wired to, with all summed
// indexes 0. The group must not be a reshape. An index outside the source axis means that
// the output is wired to nothing.
func (g *Group) Bases(out []int, from int, dst []int) {
	if g.Map == MapIndex {
		copy(dst, g.Index[from:])
		return
	}
	if g.Map == MapPublic {
		for k := range dst {
			dst[k] = int(g.Entries[from+k])
		}
		return
	}
	w := g.walk(out, from)
	for k := range dst {
		dst[k] = w.at
		w.next()
	}
}

// strides returns, for each axis, how far apart two neighbouring entries are in row-major order.
func strides(shape []int) []int {
	s := make([]int, len(shape))
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		s[i] = n
		n *= shape[i]
	}
	return s
}

// unravel returns the offset, in a dense tensor with these strides, of the entry that has the row-major index idx over the given axes
// and index 0 on all others.
func unravel(idx int, axes, shape, stride []int) int {
	off := 0
	for j := len(axes) - 1; j >= 0; j-- {
		d := shape[axes[j]]
		off += idx % d * stride[axes[j]]
		idx /= d
	}
	return off
}

package model

import "slices"

// View is a linear map between tensors that is a product over groups of axes:
// entry o of the output is the sum of the source entries that o is wired to,
// or Fill where it is wired to none. Every output axis and every source axis
// belongs to exactly one group.
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
	// Affine: In has one axis or none. Source index = Base + Σ Strides[j]·o_j
	// + Σ s·i over the summed indices; wired only if within the axis. With no
	// source axis the output axes broadcast.
	Base      int
	BaseScale Scale // in a template
	Strides   []int
	Sum       []SumIndex
	// Index: one output axis, at most one source axis; Index[o] is the source index or −1.
	Index []int
	// Public: one source axis. Ids is the input whose entries are the source indexes, one
	// for each index of the output axes in row-major order. Entries has these values after
	// Graph.WithIds; it is nil before, as in a key.
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
	// MapReshape equates the row-major index over Out with that over In.
	MapReshape
	// MapPublic is an arbitrary function of several axes that the statement gives
	// (gather with public indexes).
	MapPublic
)

// SameIndexes returns the identity, written as a view with a group for each of so many axes.
func SameIndexes(axes int) *View {
	v := &View{}
	for a := range axes {
		v.Groups = append(v.Groups, Group{Out: []int{a}, In: []int{a}, Strides: []int{1}})
	}
	return v
}

// Axes returns the axes of a tensor that has so many.
func Axes(n int) []int {
	axes := make([]int, n)
	for a := range axes {
		axes[a] = a
	}
	return axes
}

// Clone returns a view whose groups can be changed, though not the lists that they have.
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
	out   []int
	index []int // of the output, on its axes
	at    int   // its source index, without summed indexes
}

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

// Bases sets dst[k] to the source index that output from + k is wired to, without summed
// indexes. The group must not be a reshape. An index outside of the source axis means that
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

func strides(shape []int) []int {
	s := make([]int, len(shape))
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		s[i] = n
		n *= shape[i]
	}
	return s
}

// unravel turns a row-major index over the given axes into a dense offset.
func unravel(idx int, axes, shape, stride []int) int {
	off := 0
	for j := len(axes) - 1; j >= 0; j-- {
		d := shape[axes[j]]
		off += idx % d * stride[axes[j]]
		idx /= d
	}
	return off
}

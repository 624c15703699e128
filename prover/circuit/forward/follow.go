package forward

import (
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// follow returns, for every output axis of a view, the source axis that is always read at
// the same index, or −1 if there is none, as for an axis along which the view repeats,
// shifts, sums or picks by a list.
func follow(v *model.View, in, out []int) []int {
	if v == nil {
		return model.Axes(len(out))
	}
	to := slices.Repeat([]int{-1}, len(out))
	for i := range v.Groups {
		g := &v.Groups[i]
		switch g.Map {
		case model.MapAffine:
			if len(g.In) != 1 || g.Base != 0 || len(g.Sum) > 0 {
				continue
			}
			for j, a := range g.Out {
				if g.Strides[j] == 1 && alone(g, j, out) { // the output may be longer than the source; the rest is constant
					to[a] = g.In[0]
				}
			}
		case model.MapReshape:
			for _, a := range g.Out {
				to[a] = same(g.Out, out, a, g.In, in)
			}
		}
	}
	return to
}

// alone reports whether output axis j is the only axis of the group that is longer
// than 1.
func alone(g *model.Group, j int, out []int) bool {
	for k, a := range g.Out {
		if k != j && out[a] > 1 {
			return false
		}
	}
	return true
}

// same returns the axis among others that has the same index as axis a, −1 if there is none. axes and
// others are two ways to divide one row-major index. An axis of others has the index of a if it
// is as long as a and the product of the lengths before it is that before a.
func same(axes, shape []int, a int, others, otherShape []int) int {
	before := 1
	for _, x := range axes {
		if x == a {
			break
		}
		before *= shape[x]
	}
	n := 1
	for _, b := range others {
		if n == before && otherShape[b] == shape[a] && shape[a] > 1 {
			return b
		}
		n *= otherShape[b]
	}
	return -1
}

// cut is a view restricted to one index of an output axis.
type cut struct {
	view *model.View
	// axis is the source axis of which the view reads only one index, and index is that index. axis is −1 if the view may read all
	// of the source.
	axis, index int
}

// cutAt restricts a view to index at of output axis a, which then has length 1. If the restricted view reads only one index
// of a source axis, it is a view of a source in which that axis has length 1. ok is false for views that can only be
// computed as a whole.
func cutAt(v *model.View, in, out []int, a, at int) (c cut, ok bool) {
	if v == nil {
		return cut{nil, a, at}, true
	}
	w := v.Clone()
	for i := range w.Groups {
		g := &w.Groups[i]
		for j, o := range g.Out {
			if o != a {
				continue
			}
			c, ok = cutGroup(g, j, in, out, at)
			c.view = w
			return c, ok
		}
	}
	return c, false
}

// cutGroup restricts a group to index at of its j-th output axis.
func cutGroup(g *model.Group, j int, in, out []int, at int) (c cut, ok bool) {
	c.axis = -1
	switch g.Map {
	case model.MapAffine:
		g.Base += at * g.Strides[j]
		if len(g.In) == 1 && len(g.Sum) == 0 && alone(g, j, out) && g.Base >= 0 && g.Base < in[g.In[0]] {
			c.axis, c.index = g.In[0], g.Base
			g.Base = 0
		}
		return c, true
	case model.MapIndex:
		i := g.Index[at]
		if len(g.In) == 1 && i >= 0 {
			c.axis, c.index = g.In[0], i
			i = 0
		}
		g.Index = []int{i}
		return c, true
	case model.MapPublic:
		if !alone(g, j, out) {
			return c, false
		}
		c.axis, c.index = g.In[0], int(g.Entries[at])
		g.Entries = []int32{0}
		return c, true
	case model.MapReshape:
		if b := same(g.Out, out, g.Out[j], g.In, in); b >= 0 {
			c.axis, c.index = b, at
			return c, true
		}
	}
	return c, false
}

package bounds

import "github.com/prove-model/prove-model/prover/circuit/model"

// Through returns an interval of the entries of a view, between tensors of shapes in and out, if the entries of the
// source lie in src.
func Through(v *model.View, src Interval, out, in []int) Interval {
	if v == nil {
		return src
	}
	n, whole := int64(1), true // how many entries are summed at most, and whether no wired pair is cut off
	for i := range v.Groups {
		g := &v.Groups[i]
		for _, s := range g.Sum {
			n = times(n, int64(s.Dim))
		}
		whole = whole && Covers(g, out, in)
	}
	all := src.Scale(n)
	if !whole {
		// An entry may be wired to nothing, and then have the fill value, or it may be a sum of fewer than n entries.
		all = all.hull(point(v.Fill))
		if n > 1 {
			all = all.hull(point(0))
		}
	}
	return all
}

// Covers reports whether every output index of a group is wired to an entry of the source for every combination of its summed
// indexes.
func Covers(g *model.Group, out, in []int) bool {
	switch g.Map {
	case model.MapIndex:
		for _, i := range g.Index {
			if i < 0 {
				return false
			}
		}
	case model.MapAffine:
		lo, hi := g.Base, g.Base
		reach := func(n, stride int) {
			d := (n - 1) * stride
			lo, hi = lo+min(d, 0), hi+max(d, 0)
		}
		for j, a := range g.Out {
			reach(out[a], g.Strides[j])
		}
		for _, s := range g.Sum {
			reach(s.Dim, s.Stride)
		}
		dim := 1
		if len(g.In) == 1 {
			dim = in[g.In[0]]
		}
		return lo >= 0 && hi < dim
	}
	return true
}

// wired returns, for a view without Fill, an interval [from, to) of indexes on an output axis
// outside of which all entries are 0. It is the whole axis if the axis is not simply shifted along a source axis.
func wired(v *model.View, axis int, out, in []int) (from, to int) {
	from, to = 0, out[axis]
	if v == nil {
		return from, to
	}
	for i := range v.Groups {
		g := &v.Groups[i]
		if g.Map == model.MapAffine && len(g.Out) == 1 && g.Out[0] == axis && len(g.In) == 1 && len(g.Sum) == 0 && g.Strides[0] == 1 {
			from, to = max(from, -g.Base), min(to, in[g.In[0]]-g.Base)
		}
	}
	return from, max(from, to)
}

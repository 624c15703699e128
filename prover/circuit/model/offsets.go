package model

import (
	"slices"

	"github.com/prove-model/prove-model/prover/math/ints"
)

// Offsets describes a view that does not sum by one list of offsets for each output axis: entry (o_0,
// o_1, …) of the view of src is data[axes[0][o_0] + axes[1][o_1] + …]. data is src, or a copy with
// Fill around it if windows reach beyond its edges. ok is false for views that have no such form, and if
// the copy would have more than four times the entries of src; use Gather for these. The view must be
// valid for the two shapes.
func (v *View) Offsets(src ints.Ints, in, out []int) (data ints.Ints, axes [][]int, ok bool) {
	if len(out) == 0 {
		return nil, nil, false
	}
	axes = make([][]int, len(out))
	if v == nil {
		for a, s := range strides(out) {
			axes[a] = multiples(out[a], s)
		}
		return src, axes, true
	}
	before, dims, ok := v.padding(in, out)
	if !ok || Size(dims) > 4*Size(in) {
		return nil, nil, false
	}
	stride := strides(dims)
	first := 0 // the offset that all entries have in common
	for i := range v.Groups {
		g := &v.Groups[i]
		step := 0 // by how much one index of the group's last source axis moves the offset
		if len(g.In) > 0 {
			last := g.In[len(g.In)-1]
			step = stride[last]
			first += before[last] * step
		}
		switch g.Map {
		case MapAffine:
			first += g.Base * step
			for j, a := range g.Out {
				axes[a] = multiples(out[a], g.Strides[j]*step)
			}
		case MapIndex:
			offsets := make([]int, len(g.Index))
			for o, at := range g.Index {
				offsets[o] = at * step
			}
			axes[g.Out[0]] = offsets
		case MapReshape:
			for j := len(g.Out) - 1; j >= 0; j-- {
				a := g.Out[j]
				axes[a] = multiples(out[a], step)
				step *= out[a]
			}
		}
	}
	// Make the least offset of each axis 0 by moving the rest to first, which is added to the offsets of axis 0. So the sum over
	// the first few axes is a valid index by itself.
	for _, offsets := range axes {
		least := slices.Min(offsets)
		for i := range offsets {
			offsets[i] -= least
		}
		first += least
	}
	for i := range axes[0] {
		axes[0][i] += first
	}
	return v.padded(src, in, before, dims), axes, true
}

// padding returns how many entries of padding each source axis needs before its first index, and
// its length with the padding on both sides. ok is false for views that Offsets cannot describe.
func (v *View) padding(in, out []int) (before, dims []int, ok bool) {
	before, dims = make([]int, len(in)), append([]int(nil), in...)
	for i := range v.Groups {
		g := &v.Groups[i]
		switch {
		case len(g.Sum) > 0:
			return nil, nil, false
		case g.Map == MapIndex:
			for _, at := range g.Index {
				if at < 0 {
					return nil, nil, false
				}
			}
		case g.Map == MapPublic: // the offset of an entry is not a sum of one offset for each axis
			return nil, nil, false
		case g.Map == MapAffine:
			lo, hi := g.Base, g.Base
			for j, a := range g.Out {
				d := g.Strides[j] * (out[a] - 1)
				lo, hi = lo+min(d, 0), hi+max(d, 0)
			}
			if len(g.In) == 0 {
				if lo != 0 || hi != 0 {
					return nil, nil, false
				}
				continue
			}
			a := g.In[0]
			before[a] = max(-lo, 0)
			dims[a] = before[a] + max(hi+1, in[a])
		}
	}
	return before, dims, true
}

// padded returns a tensor of shape dims with the entries of src, of which index i on axis a is index before[a] + i, and Fill around
// them.
func (v *View) padded(src ints.Ints, in, before, dims []int) ints.Ints {
	if Size(in) == Size(dims) {
		return src
	}
	switch src := fillable(src, v.Fill).(type) {
	case ints.Int8s:
		return ints.Int8s(pad(src, in, before, dims, int8(v.Fill)))
	case ints.Int16s:
		return ints.Int16s(pad(src, in, before, dims, int16(v.Fill)))
	default:
		return ints.Int32s(pad(src.(ints.Int32s), in, before, dims, int32(v.Fill)))
	}
}

// pad is padded for entries of type T.
func pad[T ints.Integer](src []T, in, before, dims []int, fill T) []T {
	dst := make([]T, Size(dims))
	if fill != 0 {
		for i := range dst {
			dst[i] = fill
		}
	}
	stride := strides(dims)
	last := len(in) - 1
	var rows func(axis, at int)
	rows = func(axis, at int) {
		at += before[axis] * stride[axis]
		if axis == last {
			copy(dst[at:], src[:in[axis]])
			src = src[in[axis]:]
			return
		}
		for i := range in[axis] {
			rows(axis+1, at+i*stride[axis])
		}
	}
	rows(0, 0)
	return dst
}

// multiples returns 0, step, 2·step, … of length n.
func multiples(n, step int) []int {
	m := make([]int, n)
	for i := range m {
		m[i] = i * step
	}
	return m
}

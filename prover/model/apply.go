package model

import (
	"slices"

	"github.com/prove-model/prove-model/prover/ints"
	"github.com/prove-model/prove-model/prover/parallel"
)

// pair is one wired pair of dense offsets, output and source.
type pair struct{ o, i int }

// Accumulate adds coef times the view of src to acc. src is dense of shape
// in, acc dense of shape out. The view must be valid for the two shapes.
func (v *View) Accumulate(acc []int64, coef int64, src ints.Ints, in, out []int) {
	switch src := src.(type) {
	case ints.Int8s:
		accumulate(v, acc, coef, src, in, out)
	case ints.Int16s:
		accumulate(v, acc, coef, src, in, out)
	case ints.Int32s:
		accumulate(v, acc, coef, src, in, out)
	}
}

func accumulate[T ints.Integer](v *View, acc []int64, coef int64, src []T, in, out []int) {
	if v == nil {
		parallel.For(len(acc), 1<<14, func(lo, hi int) {
			for i, x := range src[lo:hi] {
				acc[lo+i] += coef * int64(x)
			}
		})
		return
	}
	if v.Fill != 0 {
		// No group sums, so an entry is wired once at most and the wired ones
		// can be corrected afterwards.
		for i := range acc {
			acc[i] += coef * v.Fill
		}
	}
	lists := v.pairs(in, out)
	if len(lists) == 0 { // a scalar viewed as a scalar
		acc[0] += coef * (int64(src[0]) - v.Fill)
		return
	}
	add := func(list []pair, o, i int) {
		for _, p := range list {
			acc[o+p.o] += coef * (int64(src[i+p.i]) - v.Fill)
		}
	}
	forPairs(lists, add)
}

// Gather is the view of src for views that do not sum, as a dense tensor of
// shape out, as wide as src if Fill allows; Accumulate into fresh zeros would give
// the same.
func (v *View) Gather(src ints.Ints, in, out []int) ints.Ints {
	switch src := v.fillable(src).(type) {
	case ints.Int8s:
		return ints.Int8s(gather(v, src, in, out))
	case ints.Int16s:
		return ints.Int16s(gather(v, src, in, out))
	default:
		return ints.Int32s(gather(v, src.(ints.Int32s), in, out))
	}
}

// fillable returns src in a type that holds Fill as well.
func (v *View) fillable(src ints.Ints) ints.Ints {
	if v != nil && ints.WidthFor(max(v.Fill, -v.Fill-1)) > src.Width() {
		return ints.Int32s(ints.All(src))
	}
	return src
}

func gather[T ints.Integer](v *View, src []T, in, out []int) []T {
	dst := make([]T, Size(out))
	if v == nil {
		copy(dst, src)
		return dst
	}
	if v.Fill != 0 {
		for i := range dst {
			dst[i] = T(v.Fill)
		}
	}
	lists := v.pairs(in, out)
	if len(lists) == 0 {
		dst[0] = src[0]
		return dst
	}
	forPairs(lists, func(list []pair, o, i int) {
		for _, p := range list {
			dst[o+p.o] = src[i+p.i]
		}
	})
	return dst
}

// Sums reports whether some output entry may be the sum of several source
// entries.
func (v *View) Sums() bool {
	if v == nil {
		return false
	}
	return slices.ContainsFunc(v.Groups, func(g Group) bool {
		// A source axis without an output axis is summed over as well, but
		// only as far as Sum says.
		return len(g.Sum) > 0
	})
}

// pairs lists the wired pairs of every group, outermost output axes first, so
// that the last list walks memory in the smallest steps.
func (v *View) pairs(in, out []int) [][]pair {
	order := make([]int, len(v.Groups))
	for k := range order {
		order[k] = k
	}
	last := func(k int) int {
		if g := &v.Groups[k]; len(g.Out) > 0 {
			return slices.Max(g.Out)
		}
		return -1
	}
	slices.SortStableFunc(order, func(a, b int) int { return last(a) - last(b) })
	outStride, inStride := strides(out), strides(in)
	lists := make([][]pair, len(order))
	for n, k := range order {
		g := &v.Groups[k]
		g.ForEach(out, in, func(o, i int) {
			lists[n] = append(lists[n], pair{unravel(o, g.Out, out, outStride), unravel(i, g.In, in, inStride)})
		})
	}
	return lists
}

// forPairs calls f with the last list for every combination of entries of
// the others, in parallel over outputs: no two goroutines meet the same one.
func forPairs(lists [][]pair, f func(list []pair, o, i int)) {
	n := len(lists) - 1
	var rec func(k, o, i int)
	rec = func(k, o, i int) {
		if k == n {
			f(lists[n], o, i)
			return
		}
		for _, p := range lists[k] {
			rec(k+1, o+p.o, i+p.i)
		}
	}
	// Split the list with the most distinct outputs that is not the last.
	total, split := 1, -1
	for k, l := range lists {
		total *= len(l)
		if k < n && len(l) > 1 && (split < 0 || len(l) > len(lists[split])) {
			split = k
		}
	}
	if total < 1<<15 || split < 0 {
		rec(0, 0, 0)
		return
	}
	// Moving a list to the front only changes the order of the loops.
	whole := lists[split]
	rest := slices.Delete(slices.Clone(lists), split, split+1)
	// Entries with the same output are adjacent in a list; keep them together.
	var starts []int
	for j := range whole {
		if j == 0 || whole[j].o != whole[j-1].o {
			starts = append(starts, j)
		}
	}
	starts = append(starts, len(whole))
	parallel.For(len(starts)-1, 1, func(lo, hi int) {
		part := append([][]pair{whole[starts[lo]:starts[hi]]}, rest...)
		m := len(part) - 1
		var rec func(k, o, i int)
		rec = func(k, o, i int) {
			if k == m {
				f(part[m], o, i)
				return
			}
			for _, p := range part[k] {
				rec(k+1, o+p.o, i+p.i)
			}
		}
		rec(0, 0, 0)
	})
}

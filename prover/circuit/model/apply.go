package model

import (
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// pair is a wired pair: the offset o of an output entry and the offset i of a source entry, in row-major order. The offset of an entry of
// a whole view is the sum of offsets of its groups.
type pair struct{ o, i int }

// list has the wired pairs of a group. If pairs is nil they are first, first + step, first + 2·step, …, n of them.
type list struct {
	pairs       []pair
	n           int
	first, step pair
}

// cut returns the part [from, to) of a list.
func (l list) cut(from, to int) list {
	if l.pairs != nil {
		return list{pairs: l.pairs[from:to], n: to - from}
	}
	l.first.o += from * l.step.o
	l.first.i += from * l.step.i
	l.n = to - from
	return l
}

// each calls f for every pair.
func (l list) each(f func(o, i int)) {
	for _, p := range l.pairs {
		f(p.o, p.i)
	}
	if l.pairs != nil {
		return
	}
	for k := range l.n {
		f(l.first.o+k*l.step.o, l.first.i+k*l.step.i)
	}
}

// Wiring has the wired pairs of a view between tensors of two shapes, listed once for a view that is applied many times. It does
// not depend on the values, and may be used by several goroutines at once.
type Wiring struct {
	lists []list // one for each group of the view; nil for the identity
	fill  int64
	size  int  // the number of entries of the result
	one   bool // the view has no groups: both tensors are scalars
}

// Wiring returns the wiring of a view, which may be nil, from a tensor of shape in to one of shape out. The view must be valid for the
// two shapes.
func (v *View) Wiring(in, out []int) *Wiring {
	w := &Wiring{size: Size(out)}
	if v == nil {
		return w
	}
	w.lists, w.fill = v.pairs(in, out), v.Fill
	w.one = len(w.lists) == 0
	return w
}

// Whole reports whether the view is the identity: the result is the source, entry by entry.
func (w *Wiring) Whole() bool { return w.one || w.lists == nil }

// Accumulate adds coef times the view of src to acc. src is a dense tensor of shape
// in, acc one of shape out. The view must be valid for the two shapes.
func (v *View) Accumulate(acc []int64, coef int64, src ints.Ints, in, out []int) {
	v.Wiring(in, out).Accumulate(acc, coef, src)
}

// Accumulate adds coef times the view of src to acc. Both are dense and of the wiring's shapes.
func (w *Wiring) Accumulate(acc []int64, coef int64, src ints.Ints) {
	switch src := src.(type) {
	case ints.Int8s:
		accumulate(w, acc, coef, src)
	case ints.Int16s:
		accumulate(w, acc, coef, src)
	case ints.Int32s:
		accumulate(w, acc, coef, src)
	}
}

// accumulate is Wiring.Accumulate for entries of type T.
func accumulate[T ints.Integer](w *Wiring, acc []int64, coef int64, src []T) {
	fill := w.fill
	if fill != 0 {
		// No group sums, so an entry is wired at most once. Every entry gets the fill value first; entries that are wired get
		// source minus fill below.
		for i := range acc {
			acc[i] += coef * fill
		}
	}
	switch {
	case w.one:
		acc[0] += coef * (int64(src[0]) - fill)
		return
	case w.lists == nil:
		parallel.For(len(acc), 1<<14, func(lo, hi int) {
			for i, x := range src[lo:hi] {
				acc[lo+i] += coef * int64(x)
			}
		})
		return
	}
	forPairs(w.lists, func(l list, o, i int) {
		for _, p := range l.pairs {
			acc[o+p.o] += coef * (int64(src[i+p.i]) - fill)
		}
		if l.pairs != nil {
			return
		}
		o, i = o+l.first.o, i+l.first.i
		if l.step == (pair{1, 1}) {
			to := acc[o:][:l.n]
			for k, x := range src[i:][:l.n] {
				to[k] += coef * (int64(x) - fill)
			}
			return
		}
		for range l.n {
			acc[o] += coef * (int64(src[i]) - fill)
			o, i = o+l.step.o, i+l.step.i
		}
	})
}

// Gather returns the view of src as a dense tensor of shape out, for views that do not sum.
// It has the entries that Accumulate adds to zeros, in the integer type of src if Fill fits into that.
func (v *View) Gather(src ints.Ints, in, out []int) ints.Ints {
	return v.Wiring(in, out).Gather(src)
}

// Gather returns the view of src as a dense tensor, for a view that does not sum. Its integer type is that of src if the fill value fits.
func (w *Wiring) Gather(src ints.Ints) ints.Ints {
	switch src := fillable(src, w.fill).(type) {
	case ints.Int8s:
		return ints.Int8s(gather(w, src))
	case ints.Int16s:
		return ints.Int16s(gather(w, src))
	default:
		return ints.Int32s(gather(w, src.(ints.Int32s)))
	}
}

// fillable returns src, as 32-bit integers if its type cannot hold the fill value.
func fillable(src ints.Ints, fill int64) ints.Ints {
	// A negative fill takes as many bits as −fill − 1.
	if ints.WidthFor(max(fill, -fill-1)) > src.Width() {
		return ints.Int32s(ints.All(src))
	}
	return src
}

// gather is Wiring.Gather for entries of type T, which can hold the fill value.
func gather[T ints.Integer](w *Wiring, src []T) []T {
	dst := make([]T, w.size)
	switch {
	case w.one:
		dst[0] = src[0]
		return dst
	case w.lists == nil:
		copy(dst, src)
		return dst
	}
	if w.fill != 0 {
		for i := range dst {
			dst[i] = T(w.fill)
		}
	}
	forPairs(w.lists, func(l list, o, i int) {
		for _, p := range l.pairs {
			dst[o+p.o] = src[i+p.i]
		}
		if l.pairs != nil {
			return
		}
		o, i = o+l.first.o, i+l.first.i
		if l.step == (pair{1, 1}) {
			copy(dst[o:][:l.n], src[i:][:l.n])
			return
		}
		for range l.n {
			dst[o] = src[i]
			o, i = o+l.step.o, i+l.step.i
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
		// A source axis without an output axis is not summed over unless Sum says so: only index Base is read.
		return len(g.Sum) > 0
	})
}

// pairs returns the wired pairs of every group. Groups are in the order of their last output axes, so that the last
// list, which the innermost loop goes through, has the smallest steps in memory.
func (v *View) pairs(in, out []int) []list {
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
	lists := make([]list, len(order))
	for n, k := range order {
		g := &v.Groups[k]
		if l, ok := g.even(out, in, outStride, inStride); ok {
			lists[n] = l
			continue
		}
		pairs := make([]pair, 0, sizeOf(out, g.Out))
		g.ForEach(out, in, func(o, i int) {
			pairs = append(pairs, pair{unravel(o, g.Out, out, outStride), unravel(i, g.In, in, inStride)})
		})
		lists[n] = list{pairs: pairs, n: len(pairs)}
	}
	return lists
}

// even returns the wired pairs of a group as a list without pairs, if both offsets grow by constant steps. ok is false if they do not.
func (g *Group) even(out, in, outStride, inStride []int) (list, bool) {
	switch {
	case g.Map == MapReshape:
		n, o, ok := run(g.Out, out, outStride)
		m, i, even := run(g.In, in, inStride)
		return list{n: n, step: pair{o, i}}, ok && even && n == m
	case g.Map != MapAffine || len(g.Sum) > 0:
		return list{}, false
	}
	n, o, ok := run(g.Out, out, outStride)
	m, s, even := run(g.Out, out, g.stridesOf(out))
	if !ok || !even || n != m || s < 0 {
		return list{}, false
	}
	dim, by := 1, 0 // of the source
	if len(g.In) == 1 {
		dim, by = in[g.In[0]], inStride[g.In[0]]
	}
	// The source index of output k is Base + k·s. It is in [0, dim) for k from ⌈−Base/s⌉ to ⌈(dim−Base)/s⌉ − 1.
	from, to := 0, n
	if s > 0 {
		from, to = max(0, (s-1-g.Base)/s), min(n, (dim-1-g.Base+s)/s)
	}
	if g.Base >= dim || s == 0 && g.Base < 0 || from >= to {
		return list{}, true
	}
	return list{n: n, first: pair{0, g.Base * by}, step: pair{o, s * by}}.cut(from, to), true
}

// stridesOf returns the group's strides by axis of the output, 0 for axes that are not the group's.
func (g *Group) stridesOf(out []int) []int {
	s := make([]int, len(out))
	for j, a := range g.Out {
		s[a] = g.Strides[j]
	}
	return s
}

// run reports whether axes with the given strides are equivalent to one axis of length n with
// a constant step.
func run(axes, shape, stride []int) (n, step int, ok bool) {
	n = 1
	for k := len(axes) - 1; k >= 0; k-- {
		switch a := axes[k]; {
		case shape[a] == 1:
		case n == 1:
			n, step = shape[a], stride[a]
		case stride[a] == n*step:
			n *= shape[a]
		default:
			return 0, 0, false
		}
	}
	return n, step, true
}

// forPairs calls f with the last list, once for every combination of pairs of the other lists; o and i are the sums of the
// offsets of that combination. It works in parallel: no two goroutines get the same output entry.
func forPairs(lists []list, f func(l list, o, i int)) {
	n := len(lists) - 1
	// Split the longest list but the last, which f goes through. If no other list has two pairs, split the last one, if it has
	// constant steps.
	total, split := 1, -1
	for k, l := range lists {
		total *= l.n
		if k < n && l.n > 1 && (split < 0 || l.n > lists[split].n) {
			split = k
		}
	}
	if split < 0 && lists[n].pairs == nil {
		split = n
	}
	if total < 1<<15 || split < 0 {
		combine(lists, 0, 0, f)
		return
	}
	whole := lists[split]
	// Pairs with the same output are adjacent in a list. A goroutine gets all of them.
	starts := whole.starts()
	parallel.For(len(starts)-1, 1, func(lo, hi int) {
		part := slices.Clone(lists)
		part[split] = whole.cut(starts[lo], starts[hi])
		combine(part, 0, 0, f)
	})
}

// combine calls f with the last list for every combination of pairs of the other lists. It adds their offsets to o and i.
func combine(lists []list, o, i int, f func(l list, o, i int)) {
	if len(lists) == 1 {
		f(lists[0], o, i)
		return
	}
	lists[0].each(func(p, q int) { combine(lists[1:], o+p, i+q, f) })
}

// starts returns the indexes at which a list may be cut, between pairs of different outputs, and then
// the list's length. A list with constant steps is cut into at most 64 parts.
func (l list) starts() []int {
	var starts []int
	if l.pairs == nil {
		const parts = 64
		for k := range min(parts, l.n) {
			starts = append(starts, k*l.n/min(parts, l.n))
		}
		return append(starts, l.n)
	}
	for j, p := range l.pairs {
		if j == 0 || p.o != l.pairs[j-1].o {
			starts = append(starts, j)
		}
	}
	return append(starts, len(l.pairs))
}

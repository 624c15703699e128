package model

import (
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// pair is one wired pair of dense offsets, output and source.
type pair struct{ o, i int }

// list is the wired pairs of a group: pairs, or, if that is nil, n pairs with constant steps.
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

// Wiring is a view between tensors of two shapes: its wired pairs, listed once for views that are applied again and again. It does
// not depend on the values, and may be used by several goroutines at once.
type Wiring struct {
	lists []list // nil for the identity
	fill  int64
	size  int  // of the result
	one   bool // a scalar viewed as a scalar
}

// Wiring lists the pairs of a view of a tensor of shape in as one of shape out. The view must be valid for the two.
func (v *View) Wiring(in, out []int) *Wiring {
	w := &Wiring{size: Size(out)}
	if v == nil {
		return w
	}
	w.lists, w.fill = v.pairs(in, out), v.Fill
	w.one = len(w.lists) == 0
	return w
}

// Whole reports whether the result is the source, entry by entry.
func (w *Wiring) Whole() bool { return w.one || w.lists == nil }

// Accumulate adds coef times the view of src to acc. src is dense of shape
// in, acc dense of shape out. The view must be valid for the two shapes.
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

func accumulate[T ints.Integer](w *Wiring, acc []int64, coef int64, src []T) {
	fill := w.fill
	if fill != 0 {
		// No group sums, so an entry is wired at most once. All entries get the filling first, and
		// wired ones are corrected.
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
// The result is as wide as src if Fill fits. It has the values that Accumulate adds to zeros.
func (v *View) Gather(src ints.Ints, in, out []int) ints.Ints {
	return v.Wiring(in, out).Gather(src)
}

// Gather returns the view of src as a dense tensor, for a view that does not sum. The result is as wide as src if the filling fits.
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

// fillable returns src, widened if its type cannot hold a filling.
func fillable(src ints.Ints, fill int64) ints.Ints {
	if ints.WidthFor(max(fill, -fill-1)) > src.Width() {
		return ints.Int32s(ints.All(src))
	}
	return src
}

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
		// A source axis without an output axis is summed over only as far as Sum says.
		return len(g.Sum) > 0
	})
}

// pairs lists the wired pairs of every group, outermost output axes first, so that the last
// list has the smallest steps in memory.
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

// even returns the wired pairs of a group without listing them, if they have constant steps.
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
	from, to := 0, n
	if s > 0 {
		from, to = max(0, (s-1-g.Base)/s), min(n, (dim-1-g.Base+s)/s)
	}
	if g.Base >= dim || s == 0 && g.Base < 0 || from >= to {
		return list{}, true
	}
	return list{n: n, first: pair{0, g.Base * by}, step: pair{o, s * by}}.cut(from, to), true
}

// stridesOf returns the group's strides by axis of the output.
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

// forPairs calls f with the last list for every combination of entries of the other lists. It
// works in parallel; no two goroutines get the same output entry.
func forPairs(lists []list, f func(l list, o, i int)) {
	n := len(lists) - 1
	// Split the list with the most distinct outputs that is not the last, or that one if
	// there is no other.
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
	// Entries with the same output are adjacent in a list; keep them together.
	starts := whole.starts()
	parallel.For(len(starts)-1, 1, func(lo, hi int) {
		part := slices.Clone(lists)
		part[split] = whole.cut(starts[lo], starts[hi])
		combine(part, 0, 0, f)
	})
}

// combine calls f with the last list for every combination of entries of the others.
func combine(lists []list, o, i int, f func(l list, o, i int)) {
	if len(lists) == 1 {
		f(lists[0], o, i)
		return
	}
	lists[0].each(func(p, q int) { combine(lists[1:], o+p, i+q, f) })
}

// starts returns the indexes at which a list may be cut: those where a new output begins, and
// the list's length.
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

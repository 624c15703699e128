package ints

import (
	"math"
	"sync/atomic"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/arena"
)

// grain is the number of entries that one goroutine handles.
const grain = 1 << 16

// block is how many entries are narrowed at a time, so that they stay in the first-level
// cache.
const block = 1 << 12

// WidthOf returns the bytes of the narrowest type that holds all values.
func WidthOf(values []int32) int {
	var all int32
	parallel.Collect(len(values), grain, func(lo, hi int) func() {
		var any int32 // the bitwise or of all values, negative ones inverted
		for _, v := range values[lo:hi] {
			any |= v ^ v>>31
		}
		return func() { all |= any }
	})
	return WidthFor(int64(all))
}

// WidthFor returns the bytes of the narrowest type that holds all integers from
// −most−1 to most.
func WidthFor(most int64) int {
	switch {
	case most <= math.MaxInt8:
		return 1
	case most <= math.MaxInt16:
		return 2
	}
	return 4
}

// Of returns the values in the narrowest type that holds them. If that has 32 bits, it keeps
// the slice; else it copies.
func Of(values []int32) Ints {
	width := WidthOf(values)
	if width == 4 {
		return Int32s(values)
	}
	v, _ := Make(len(values), width, func(dst []int32, from int) { copy(dst, values[from:]) })
	return v
}

// Make returns a list of n entries of the given width in bytes, in memory of arena.Lasting. fill sets dst to the entries from number from
// on. It is called by several goroutines at once, for each entry once. ok is false if some value does not fit in the width; the list is
// then useless.
func Make(n, width int, fill func(dst []int32, from int)) (v Ints, ok bool) {
	switch width {
	case 1:
		w := Int8s(arena.Lasting[int8](n))
		return w, narrow(w, fill)
	case 2:
		w := Int16s(arena.Lasting[int16](n))
		return w, narrow(w, fill)
	}
	w := Int32s(arena.Lasting[int32](n))
	parallel.For(n, grain, func(lo, hi int) { fill(w[lo:hi], lo) })
	return w, true
}

// narrow is Make for entries in dst.
func narrow[T int8 | int16](dst []T, fill func(dst []int32, from int)) bool {
	var wide atomic.Bool
	parallel.For(len(dst), grain, func(lo, hi int) {
		buf := make([]int32, min(block, hi-lo))
		for ; lo < hi && !wide.Load(); lo += len(buf) {
			buf = buf[:min(len(buf), hi-lo)]
			fill(buf, lo)
			if !narrowed(dst[lo:lo+len(buf)], buf) {
				wide.Store(true)
			}
		}
	})
	return !wide.Load()
}

// narrowed sets dst to the values of src, and reports whether they all
// fit. dst must not be shorter than src.
func narrowed[T int8 | int16](dst []T, src []int32) bool {
	dst = dst[:len(src)]
	n, lost := prefix(len(src)), uint64(0)
	if n > 0 {
		switch dst := any(dst).(type) {
		case []int8:
			lost = narrow8(&dst[0], &src[0], uint64(n))
		case []int16:
			lost = narrow16(&dst[0], &src[0], uint64(n))
		}
	}
	for i, x := range src[n:] {
		dst[n+i] = T(x)
		lost |= uint64(x ^ int32(T(x)))
	}
	return lost == 0
}

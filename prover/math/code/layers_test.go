package code

import (
	"fmt"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/internal/simd"
	"github.com/prove-model/prove-model/prover/math/field"
)

// atLevel runs f in plain Go, or with an instruction set.
func atLevel(l simd.Level, f func()) {
	defer func(best simd.Level) { level = best }(level)
	level = l
	f()
}

// inputs are blocks of n elements that have been trouble before anywhere:
// random ones, and all pairs of extremes.
func inputs(n int) map[string][]field.M31 {
	fill := func(f func(i int) field.M31) []field.M31 {
		v := make([]field.M31, n)
		for i := range v {
			v[i] = f(i)
		}
		return v
	}
	return map[string][]field.M31{
		"random":    randomM31(newRand(uint64(n)), n),
		"zeros":     fill(func(int) field.M31 { return 0 }),
		"largest":   fill(func(int) field.M31 { return field.P - 1 }),
		"alternate": fill(func(i int) field.M31 { return field.M31(i&1) * (field.P - 1) }),
		"halves":    fill(func(i int) field.M31 { return field.M31(2*i/n) * (field.P - 1) }),
	}
}

// factors are tables of at least n twiddles: the real ones and extremes, which
// no domain has.
func factors(n int) map[string][]field.M31 {
	f := inputs(n)
	f["real"] = twiddles(logLen(n))
	return f
}

// TestKernels compares the instruction sets with plain Go, in place and from another slice.
func TestKernels(t *testing.T) {
	check := func(name string, size int, f func(dst, src, t []field.M31)) {
		for twName, tw := range factors(256) {
			for inName, in := range inputs(size) {
				want, got := make([]field.M31, size), make([]field.M31, size)
				atLevel(simd.None, func() { f(want, in, tw) })
				for l := simd.None; l <= simd.Best(); l++ {
					atLevel(l, func() { f(got, in, tw) })
					if !slices.Equal(want, got) {
						t.Fatalf("%s, %s, size %d, %s twiddles, %s: not what plain Go gives", l, name, size, twName, inName)
					}
					copy(got, in)
					atLevel(l, func() { f(got, got, tw) })
					if !slices.Equal(want, got) {
						t.Fatalf("%s, %s in place, size %d, %s twiddles, %s: not what plain Go gives", l, name, size, twName, inName)
					}
				}
			}
		}
	}
	for _, block := range []int{lanes, 2 * lanes, 3 * lanes, 8 * lanes} {
		for _, count := range []int{1, 2, 3, 4} {
			for _, v := range []int{1, count, 7} {
				check(fmt.Sprintf("radix2 of %d nodes from %d", count, v), 2*block*count,
					func(dst, src, t []field.M31) { radix2(dst, src, v, count, t) })
				check(fmt.Sprintf("radix4 of %d nodes from %d", count, v), 4*block*count,
					func(dst, src, t []field.M31) { radix4(dst, src, v, count, t) })
			}
		}
	}
	for _, groups := range []int{2, 4, 6, 16} {
		for _, v := range []int{1, 5, 15} {
			check(fmt.Sprintf("last layers of %d groups from %d", groups, v), groups*lanes,
				func(dst, src, t []field.M31) {
					copy(dst, src)
					lastLayers(dst, v, t)
				})
		}
	}
}

// TestEncodersAgree encodes at each level through all sizes.
func TestEncodersAgree(t *testing.T) {
	for n := range 16 {
		in := randomM31(newRand(uint64(n)), 1<<n)
		encode := func(l simd.Level) []field.M31 {
			out := make([]field.M31, 2<<n)
			atLevel(l, func() { Encode(out, in) })
			return out
		}
		want := encode(simd.None)
		for l := simd.AVX2; l <= simd.Best(); l++ {
			if !slices.Equal(want, encode(l)) {
				t.Fatalf("%s, 2^%d: not what plain Go gives", l, n)
			}
		}
	}
}

package ints

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// random returns n values of so many bits, the extremes among them.
func random(rng *rand.Rand, n, bits int) []int32 {
	v := make([]int32, n)
	for i := range v {
		v[i] = int32(rng.Int64N(1<<bits) - 1<<(bits-1))
		if rng.IntN(8) == 0 {
			v[i] = int32(-1 << (bits - 1))
		}
		if rng.IntN(8) == 0 {
			v[i] = int32(1<<(bits-1) - 1)
		}
	}
	return v
}

func TestLists(t *testing.T) {
	atEachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		for _, n := range []int{0, 1, 15, 16, 17, 100, block, block + 1, grain + 33, 3*grain + 5} {
			for bits, width := range map[int]int{8: 1, 9: 2, 16: 2, 17: 4, 31: 4} {
				want := random(rng, n, bits)
				if n == 0 {
					width = 1
				}
				if n > 0 { // so that the width is sure
					want[rng.IntN(n)] = int32(-1 << (bits - 1))
				}
				v := Of(want)
				if v.Width() != width || v.Len() != n {
					t.Fatalf("%d values of %d bits: %d of %d bytes", n, bits, v.Len(), v.Width())
				}
				if !slices.Equal(All(v), want) {
					t.Fatalf("%d values of %d bits differ", n, bits)
				}
				from := rng.IntN(n + 1)
				to := from + rng.IntN(n-from+1)
				part := v.Slice(from, to)
				got := make([]int32, to-from)
				v.Read(got, from)
				var buf []int32
				if !slices.Equal(Part(v, from, to, &buf), want[from:to]) || !slices.Equal(Part(v, from, from, &buf), nil) {
					t.Fatalf("%d values of %d bits: part %d to %d differs", n, bits, from, to)
				}
				if !slices.Equal(got, want[from:to]) || !slices.Equal(All(part), want[from:to]) || part.Width() != width {
					t.Fatalf("%d values of %d bits: entries %d to %d differ", n, bits, from, to)
				}
			}
		}
	})
}

func TestWidthFor(t *testing.T) {
	for most, want := range map[int64]int{0: 1, 127: 1, 128: 2, math.MaxInt16: 2, math.MaxInt16 + 1: 4, 1 << 29: 4} {
		if got := WidthFor(most); got != want {
			t.Errorf("%d: %d bytes, want %d", most, got, want)
		}
	}
}

// A value that does not fit is noticed wherever it is.
func TestMakeRefuses(t *testing.T) { atEachLevel(t, testMakeRefuses) }

func testMakeRefuses(t *testing.T) {
	for width, least := range map[int]int32{1: 128, 2: 1 << 15} {
		for _, x := range []int32{least, -least - 1, math.MaxInt32, math.MinInt32, least << 1, 256 << 16} {
			for _, at := range []int{0, 15, block - 1, 2*grain + 7, 3*grain + 4} {
				fill := func(dst []int32, from int) {
					for i := range dst {
						dst[i] = 0
						if from+i == at {
							dst[i] = x
						}
					}
				}
				if _, ok := Make(3*grain+5, width, fill); ok {
					t.Errorf("%d in %d bytes at %d: accepted", x, width, at)
				}
				if v, ok := Make(3*grain+5, 4, fill); !ok || All(v)[at] != x {
					t.Errorf("%d in 4 bytes at %d: %t", x, at, ok)
				}
			}
		}
	}
}

func BenchmarkWiden(b *testing.B) {
	dst := make([]int32, 1<<12)
	run := func(name string, v Ints) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(4 * len(dst)))
			for b.Loop() {
				v.Read(dst, 0)
			}
		})
	}
	run("8", make(Int8s, len(dst)))
	run("16", make(Int16s, len(dst)))
}

package matmul

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/prove-model/prove-model/prover/math/ints"
)

// extremes are n numbers of some bits, the least and the greatest among them, times 2^shift.
func extremes(rng *rand.Rand, n, bits, shift int) []int32 {
	v := make([]int32, n)
	same := rng.IntN(3) == 0 // sums as large as they can be
	for i := range v {
		x := int32(rng.Uint32()) >> (32 - bits)
		if k := rng.IntN(4); same || k == 0 {
			x = -1 << (bits - 1)
		} else if k == 1 {
			x = 1<<(bits-1) - 1
		}
		v[i] = x << shift
	}
	return v
}

// A matrix times a vector is what its rows are, whatever they are kept in.
func TestMatrix(t *testing.T) {
	atEachLevel(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
			n, k := rapid.IntRange(1, 40).Draw(t, "rows"), rapid.SampledFrom([]int{1, 5, 31, 32, 33, 64, 100, 576, 1536}).Draw(t, "columns")
			width := rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "width")
			var data []int32
			for range n {
				bits, shift := 8*width, 0
				if width == 4 { // rows that fit in 16 bits, with shifts, and others
					bits = rapid.SampledFrom([]int{1, 8, 16, 17, 24}).Draw(t, "bits")
					shift = rapid.IntRange(0, 7).Draw(t, "shift")
				}
				data = append(data, extremes(rng, k, bits, shift)...)
			}
			v, _ := ints.Make(len(data), width, func(dst []int32, from int) { copy(dst, data[from:]) })
			x := extremes(rng, k, rapid.IntRange(1, 24).Draw(t, "of vector"), 0)
			if rapid.Bool().Draw(t, "edge") { // the greatest magnitude that is multiplied in pairs, and one more
				x[0] = int32(-math.MaxInt16 - rng.IntN(2))
			}
			coef := int64(rapid.SampledFrom([]int{1, -1, 3}).Draw(t, "coef"))
			got, want := make([]int64, n), make([]int64, n)
			for i := range want {
				got[i], want[i] = int64(i), int64(i)
				for j, y := range x {
					want[i] += coef * int64(data[i*k+j]) * int64(y)
				}
			}
			NewMatrix(v, k).AddTimes(got, coef, x)
			if !slices.Equal(got, want) {
				t.Fatalf("%d×%d of %d bytes: %v, not %v", n, k, width, got, want)
			}
		})
	})
}

// Rows of 32 bits are kept in 16 where they fit.
func TestShorten(t *testing.T) {
	for _, c := range []struct {
		row  []int32
		want uint8
	}{
		{[]int32{0, 0}, 0}, {[]int32{-1 << 15, 1<<15 - 1}, 0}, {[]int32{1 << 15, 0}, 15}, {[]int32{1 << 15, 1}, tooWide},
		{[]int32{-1 << 31, 1 << 30}, 30}, {[]int32{-3 << 13, 1 << 13}, 13}, {[]int32{-1<<15 - 1}, tooWide},
	} {
		dst := make([]int16, len(c.row))
		got := shorten(dst, c.row)
		if got != c.want {
			t.Errorf("%v: shift %d, want %d", c.row, got, c.want)
		}
		for i, x := range dst {
			if got != tooWide && int32(x)<<got != c.row[i] {
				t.Errorf("%v: %v", c.row, dst)
			}
		}
	}
}

func BenchmarkMatrix(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, width := range []int{1, 2, 4} {
		b.Run(map[int]string{1: "8", 2: "16", 4: "32"}[width], func(b *testing.B) {
			const n, k = 1 << 13, 576
			data := extremes(rng, n*k, min(16, 8*width), 0)
			v, _ := ints.Make(len(data), width, func(dst []int32, from int) { copy(dst, data[from:]) })
			m, x, dst := NewMatrix(v, k), extremes(rng, k, 13, 0), make([]int64, n)
			b.SetBytes(int64(n * k * min(2, width)))
			for b.Loop() {
				m.AddTimes(dst, 1, x)
			}
		})
	}
}

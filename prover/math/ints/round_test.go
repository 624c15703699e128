package ints

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Numbers of all sizes round to the nearest whole number, halves to the even one, at
// every exponent.
func TestRound(t *testing.T) {
	atEachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5, 6))
		for _, n := range []int{0, 1, 15, 16, 33, 200} {
			for _, exponent := range []int{-160, -140, -127, -126, -20, -1, 0, 3, 20, 126, 127, 128, 150} {
				for _, shift := range []int{0, 1, 9} {
					src, want := make([]float32, n), make([]int32, n)
					for i := range src {
						// Multiples of a half up to 2^20, or next to them, or far less.
						x := math.Ldexp(float64(rng.IntN(1<<20)-1<<19), -1-exponent)
						if i%8 == 5 {
							x = math.Ldexp(rng.NormFloat64(), -rng.IntN(150))
						}
						src[i] = float32(x)
						if i%4 == 1 {
							src[i] = math.Nextafter32(src[i], float32(rng.NormFloat64()))
						}
						if y := float64(src[i]) * math.Ldexp(1, exponent); math.Abs(y) > 1<<20 || math.IsNaN(y) {
							src[i] = 0
						}
						want[i] = int32(math.RoundToEven(float64(src[i])*math.Ldexp(1, exponent))) * int32(1<<shift)
					}
					got := make([]int32, n)
					if Round(got, src, exponent, shift); !slices.Equal(got, want) {
						t.Fatalf("%d numbers by 2^%d, shifted by %d: %v give %v, not %v", n, exponent, shift, src, got, want)
					}
				}
			}
		}
	})
}

package model

import (
	"math"
	"testing"
)

// TestReals compares with the definition, for all scales that a key may have.
func TestReals(t *testing.T) {
	ints := []int32{0, 1, -1, 3, 12345, math.MaxInt32, math.MinInt32, 1 << 30, -(1 << 30) + 1}
	for frac := -1000; frac <= 1000; frac++ {
		for i, got := range (&Tensor{Frac: frac}).Reals(ints) {
			if want := math.Ldexp(float64(ints[i]), -frac); got != want {
				t.Fatalf("%d with scale 2^%d: %g, want %g", ints[i], frac, got, want)
			}
		}
	}
	for i, got := range (&Tensor{Fracs: []int{3, -2}}).Reals(ints) {
		if want := math.Ldexp(float64(ints[i]), []int{-3, 2}[i%2]); got != want {
			t.Errorf("%d: %g, want %g", ints[i], got, want)
		}
	}
}

package pads

import (
	"math"
	"testing"
)

// TestDummies: what d dummies add to the ends of the proof of products, Σ e·x, Σ e·y and Σ e·x·y with weights that are not zero, is
// uniform but for ½·q^((3−2d)/2) in statistical distance, over any field of q elements. It is counted for small ones. With the
// number that there is that is ½·|K|^(−5/2); with one they are far from it.
func TestDummies(t *testing.T) {
	for _, q := range []int{3, 5, 7, 11, 13} {
		distribution := make([]float64, q*q*q)
		distribution[0] = 1
		for d := 1; d <= dummies; d++ {
			e := 1 + (d*d+1)%(q-1) // some weight
			next := make([]float64, len(distribution))
			for at, p := range distribution {
				for x := range q {
					for y := range q {
						a, b, c := (at/(q*q)+e*x)%q, (at/q%q+e*y)%q, (at%q+e*x*y)%q
						next[(a*q+b)*q+c] += p / float64(q*q)
					}
				}
			}
			distribution = next
			distance := 0.0
			for _, p := range distribution {
				distance += math.Abs(p-1/float64(len(distribution))) / 2
			}
			if bound := math.Pow(float64(q), (3-2*float64(d))/2) / 2; distance > bound {
				t.Errorf("%d elements, %d dummies: distance %.4g, bound %.4g", q, d, distance, bound)
			}
			if want := 1 - 1/float64(q); d == 1 && math.Abs(distance-want) > 1e-9 {
				t.Errorf("%d elements, one dummy: distance %.4g, want %.4g", q, distance, want)
			}
		}
	}
	if dummies != 4 {
		t.Error("the bound in docs/security.md is for four")
	}
}

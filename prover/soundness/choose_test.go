package soundness

import (
	"math"
	"testing"
)

// TestDrawn compares with floating point.
func TestDrawn(t *testing.T) {
	for d := 1; d <= MaxLogDomain; d++ {
		for _, n := range []uint64{1, 2, 5, 124, 4096} {
			want := -math.Expm1(float64(n)*math.Log1p(-math.Ldexp(1, -d))) * math.Ldexp(1, d)
			got := float64(drawn(n, d)) / (1 << drawnFrac)
			if math.Abs(got-want) > 0.02*want+0.01 {
				t.Errorf("%d draws of 2^%d: %v, want %v", n, d, got, want)
			}
		}
	}
}

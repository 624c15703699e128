package field

import "testing"

func TestAddSubQM31Vec(t *testing.T) {
	for n := range maxLen + 1 {
		a, b, sum, difference := sampleQM31s(n, 1), sampleQM31s(n, 2), make([]QM31, n), make([]QM31, n)
		AddQM31Vec(sum, a, b)
		SubQM31Vec(difference, a, b)
		for i := range a {
			if sum[i] != a[i].Add(b[i]) || difference[i] != a[i].Sub(b[i]) {
				t.Fatalf("length %d, element %d: %v and %v", n, i, sum[i], difference[i])
			}
		}
	}
}

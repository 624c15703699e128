package field

import "testing"

func TestSubQM31Vec(t *testing.T) {
	for n := range maxLen {
		a, b, got := sampleQM31s(n, 1), sampleQM31s(n, 2), make([]QM31, n)
		SubQM31Vec(got, a, b)
		for i := range got {
			if want := a[i].Sub(b[i]); got[i] != want {
				t.Fatalf("length %d: element %d is %v, want %v", n, i, got[i], want)
			}
		}
	}
}

package poly

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/prover/math/field"
)

// TestCompare holds the closed forms against the sums that they stand for, for all
// small sizes and differences, and for a few that leave the matrix far behind.
func TestCompare(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := 1; n <= 9; n++ {
		for m := 1; m <= 9; m++ {
			shape := []int{n, m}
			r, s := random(rng, n), random(rng, m)
			at := append(append([]field.QM31{}, r...), s...)
			for _, d := range []int64{-1 << 40, -17, -9, -8, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 7, 8, 9, 16, 1 << 29, 1 << 40} {
				atMost, equal := make([]int32, n*m), make([]int32, n*m)
				for i := range n {
					for j := range m {
						if int64(i) <= int64(j)+d {
							atMost[i*m+j] = 1
						}
						if int64(i) == int64(j)+d {
							equal[i*m+j] = 1
						}
					}
				}
				if AtMostEval(r, s, uint64(n), uint64(m), d) != EvalTensor(shape, atMost, at) {
					t.Errorf("%v: i ≤ j + %d", shape, d)
				}
				if EqualEval(r, s, uint64(n), uint64(m), d) != EvalTensor(shape, equal, at) {
					t.Errorf("%v: i = j + %d", shape, d)
				}
			}
		}
	}
	// A matrix that no one writes down, at an entry and outside.
	r, s := bitsOf(1<<20-5, 20), bitsOf(1<<19, 20)
	for d, want := range map[int64]field.QM31{1<<19 - 5: field.One, 1<<19 - 6: field.Zero} {
		if AtMostEval(r, s, 1<<20-4, 1<<20, d) != want || AtMostEval(r, s, 1<<20-5, 1<<20, d) != field.Zero {
			t.Errorf("an entry of a large matrix, i ≤ j + %d", d)
		}
	}
}

// random is a point for an axis of dimension d.
func random(rng *rand.Rand, d int) []field.QM31 {
	p := make([]field.QM31, bits.Len(uint(d-1)))
	for i := range p {
		p[i] = field.NewQM31(field.M31(rng.Uint32N(field.P)), field.M31(rng.Uint32N(field.P)), 5, field.M31(rng.Uint32N(field.P)))
	}
	return p
}

// bitsOf is the point that an index is at.
func bitsOf(x, n int) []field.QM31 {
	p := make([]field.QM31, n)
	for i := range p {
		p[i] = field.FromM31(field.M31(x >> (n - 1 - i) & 1))
	}
	return p
}

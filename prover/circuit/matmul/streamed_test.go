package matmul

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
)

// What is read by parts gives the sums in order, to the last bit, of several panels, parts
// and tasks, at one thread and at several.
func TestStreamed(t *testing.T) {
	atEachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(7, 8))
		for _, s := range []struct{ m, k, n int }{
			{1, 1, 1}, {4, 7, 3}, {8, 64, 40}, {64, 513, 9}, {65, 100, 70}, {130, 1100, 33}, {3, 0, 2}, {0, 3, 2},
		} {
			a, b := make([]float64, s.m*s.k), make([]float32, s.n*s.k)
			for i := range a {
				a[i] = rng.NormFloat64()
			}
			for i := range b {
				b[i] = float32(rng.NormFloat64())
			}
			want := make([]float64, s.m*s.n)
			for i := range s.m {
				for j := range s.n {
					for l := range s.k {
						want[i*s.n+j] += float64(a[i*s.k+l] * float64(b[j*s.k+l]))
					}
				}
			}
			for _, procs := range []int{1, 4} {
				before := runtime.GOMAXPROCS(procs)
				got := make([]float64, len(want))
				Streamed(got, a, s.m, s.k, s.n, func(dst []float32, from int) { copy(dst, b[from:from+len(dst)]) })
				runtime.GOMAXPROCS(before)
				for i, x := range got {
					if math.Float64bits(x) != math.Float64bits(want[i]) {
						t.Fatalf("%+v: number %d is %v with %d threads, not %v", s, i, x, procs, want[i])
					}
				}
			}
		}
	})
}

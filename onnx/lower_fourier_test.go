package onnx

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"
)

// The matrix of a transform is that of its definition, for all lengths; half of a real
// signal's spectrum gives it back.
func TestFourierMatrix(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for length := 1; length < 12; length++ {
		for points := 1; points < 12; points++ {
			signal := make([]complex128, length) // with zeros where it has no points
			x := make([]float64, 2*points)
			for i := range points {
				x[2*i], x[2*i+1] = rng.NormFloat64(), rng.NormFloat64()
				if i < length {
					signal[i] = complex(x[2*i], x[2*i+1])
				}
			}
			used := min(points, length)
			for _, inverse := range []bool{false, true} {
				m, results, parts := fourier{length: length, inverse: inverse}.matrix(used, 2, nil)
				sign, scale := -1.0, 1.0
				if inverse {
					sign, scale = 1, 1/float64(length)
				}
				for k := range results {
					var want, got complex128
					for i, v := range signal {
						want += v * cmplx.Exp(complex(0, sign*2*math.Pi*float64(i*k)/float64(length))) * complex(scale, 0)
					}
					for i := range 2 * used {
						at := (i*results + k) * parts
						got += complex(x[i]*float64(m[at]), x[i]*float64(m[at+1]))
					}
					if cmplx.Abs(got-want) > 1e-5 {
						t.Fatalf("length %d of %d points, inverse %v: bin %d is %v, want %v", length, points, inverse, k, got, want)
					}
				}
			}
		}
		// Forth with one side, and back.
		one := fourier{length: length, oneSided: true}
		forth, bins, _ := one.matrix(length, 1, nil)
		one.inverse = true
		back, n, parts := one.matrix(bins, 2, nil)
		if n != length || parts != 1 {
			t.Fatalf("%d results of %d parts", n, parts)
		}
		for i := range length {
			for k := range length {
				sum := 0.0
				for j := range 2 * bins {
					sum += float64(forth[i*2*bins+j]) * float64(back[j*length+k])
				}
				want := 0.0
				if i == k {
					want = 1
				}
				if math.Abs(sum-want) > 1e-5 {
					t.Fatalf("length %d there and back: %d to %d is %v", length, i, k, sum)
				}
			}
		}
	}
}

package kernels_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
)

// Products with few matrices of many, and their restrictions, are those of the definition: for integers of all widths,
// rows that share what they read, more experts than lanes, and choosers that choose nothing, or several with factors.
func TestChosen(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct{ rows, experts, n, k, each, by, x, w int }{
		{1, 1, 1, 1, 1, 1, 1, 1}, {6, 4, 5, 7, 2, 1, 2, 1}, {8, 8, 33, 64, 1, 4, 4, 2}, {16, 70, 3, 40, 8, 1, 2, 4}, {9, 32, 12, 31, 3, 2, 1, 1},
		{80, 3, 37, 1030, 2, 1, 2, 2}, {1300, 2, 5, 12, 4, 1, 1, 2},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			by := make([]int32, c.rows*c.experts)
			for r := range c.rows {
				switch r % 4 {
				case 0, 1:
					by[r*c.experts+rng.IntN(c.experts)] = 1
				case 2:
					by[r*c.experts+rng.IntN(c.experts)] = -3
					by[r*c.experts+c.experts-1] = 2
				}
			}
			list := map[int]func() kernels.Ptr{1: func() kernels.Ptr { return put(t, d, converted[int8](by)) },
				2: func() kernels.Ptr { return put(t, d, converted[int16](by)) }, 4: func() kernels.Ptr { return put(t, d, by) }}
			bits := func(width int) int { return min(8*width, 20) }
			x, px := forwardIntegers(t, d, rng, c.rows/c.each*c.k, c.x, bits(c.x))
			w, pw := forwardIntegers(t, d, rng, c.experts*c.n*c.k, c.w, bits(c.w))
			acc := make([]int64, c.rows*c.n)
			weights := make([]field.QM31, c.rows)
			for i := range weights {
				weights[i] = field.QM31{C0: field.CM31{A0: field.M31(rng.Uint32N(field.P)), A1: field.M31(i)}, C1: field.CM31{A0: 5, A1: field.M31(rng.Uint32N(field.P))}}
			}
			pitch := 1 << model.Log2Ceil(c.k)
			table := make([]field.QM31, pitch<<model.Log2Ceil(c.experts))
			for r := range c.rows {
				for e := range c.experts {
					b := by[r*c.experts+e]
					for k := range c.k {
						v := x[r/c.each*c.k+k]
						at := &table[e*pitch+k]
						*at = at.Add(weights[r].MulM31(field.FromInt64(int64(b) * int64(v))))
						for j := range c.n {
							acc[r*c.n+j] -= 3 * int64(b) * int64(v) * int64(w[(e*c.n+j)*c.k+k])
						}
					}
				}
			}
			p := kernels.Chosen{By: kernels.Integers{At: list[c.by](), Width: c.by}, X: kernels.Integers{At: px, Width: c.x}, W: kernels.Integers{At: pw, Width: c.w},
				Rows: c.rows, Experts: c.experts, N: c.n, K: c.k, Each: c.each}
			sums := put(t, d, make([]int64, len(acc)))
			must(t, kernels.ChosenAdd(d, sums, p, -3))
			if !slices.Equal(get[int64](t, d, sums, len(acc)), acc) {
				t.Error("wrong products")
			}
			out := put(t, d, weightsOf(len(table)))
			must(t, kernels.ChosenRestrict(d, out, put(t, d, weights), p))
			if !slices.Equal(get[field.QM31](t, d, out, len(table)), table) {
				t.Error("wrong restriction")
			}
		})
	}
	if err := kernels.ChosenAdd(d, 1, kernels.Chosen{Rows: 3, Experts: 1, N: 1, K: 1, Each: 2, By: kernels.Integers{At: 1, Width: 1}, X: kernels.Integers{At: 1, Width: 1}, W: kernels.Integers{At: 1, Width: 1}}, 1); err == nil {
		t.Error("rows that share what they read, and do not divide, are accepted")
	}
}

// weightsOf is memory that is not zero.
func weightsOf(n int) []field.QM31 {
	out := make([]field.QM31, n)
	for i := range out {
		out[i] = field.One
	}
	return out
}

package kernels_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/poly"
)

func TestEqTensor(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(9, 10))
	for _, dims := range [][]int{{}, {1}, {2}, {300}, {3, 1, 5}, {2, 3, 4, 1, 2, 3, 1, 2}} {
		var parts [][]field.QM31
		for _, dim := range dims {
			parts = append(parts, vectorQM31(rng, model.Log2Ceil(dim), 1))
		}
		point := put(t, d, append(poly.JoinAxes(parts), field.One))
		want := poly.OuterEq(dims, parts)
		out := put(t, d, make([]field.QM31, len(want)))
		must(t, kernels.EqTensor(d, out, point, dims))
		same(t, fmt.Sprint("eq over ", dims), get[field.QM31](t, d, out, len(want)), want)
	}
	if err := kernels.EqTensor(d, 0, 0, make([]int, 9)); err == nil {
		t.Error("nine axes")
	}
}

// TestLookUpLeaves compares leaves with their definition.
func TestLookUpLeaves(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(11, 12))
	constants := vectorQM31(rng, 2, 1)
	base := kernels.LookupBase{Base: constants[0], Beta: constants[1]}
	fraction := func(key int64, value field.M31) field.QM31 {
		return base.Base.AddM31(field.FromInt64(-key)).Add(base.Beta.MulM31(value))
	}
	for _, dims := range [][]int{{}, {1}, {7}, {256}, {3, 5}, {2, 3, 1, 9}} {
		for _, width := range []int{1, 2, 4} {
			size, padded := model.Size(dims), kernels.PaddedSize(dims)
			keys, keyValues := integers(t, d, rng, size, 4)
			outs, outValues := integers(t, d, rng, size, width)
			if width == 2 {
				outs = kernels.Integers{}
				clear(outValues)
			}
			num, den := put(t, d, make([]field.M31, padded)), put(t, d, make([]field.QM31, padded))
			must(t, kernels.LogUpStepLeaves(d, num, den, keys, outs, dims, base))
			ones, values := make([]field.QM31, size), make([]field.QM31, size)
			for i := range values {
				ones[i] = field.One
				values[i] = fraction(int64(keyValues[i]), field.FromInt32(outValues[i])).Sub(base.Base)
			}
			wantNum := make([]field.M31, padded)
			wantDen := append([]field.QM31(nil), poly.PadTable(values, dims)...)
			for i, v := range poly.PadTable(ones, dims) {
				wantNum[i] = v.C0.A0
				wantDen[i] = wantDen[i].Add(base.Base)
			}
			what := fmt.Sprintf("leaves of %v, width %d", dims, width)
			same(t, what, get[field.M31](t, d, num, padded), wantNum)
			same(t, what, get[field.QM31](t, d, den, padded), wantDen)
		}
	}
	for _, n := range []int{1, 2, 512} {
		for _, from := range []int64{0, -1 << 20, 1<<30 - 1} {
			counts, countValues := integers(t, d, rng, n, 4)
			values := vectorM31(rng, n, 1)
			num, den := put(t, d, make([]field.M31, n+3)), put(t, d, make([]field.QM31, n+3))
			must(t, kernels.LogUpTableLeaves(d, num, den, counts, put(t, d, values), n, from, base))
			must(t, kernels.LogUpFill(d, kernels.At[field.M31](num, n), kernels.At[field.QM31](den, n), 3))
			wantNum, wantDen := make([]field.M31, n+3), make([]field.QM31, n+3)
			for i := range n {
				wantNum[i], wantDen[i] = field.FromInt64(-int64(countValues[i])), fraction(from+int64(i), values[i])
			}
			for i := n; i < n+3; i++ {
				wantDen[i] = field.One
			}
			same(t, "table", get[field.M31](t, d, num, n+3), wantNum)
			same(t, "table", get[field.QM31](t, d, den, n+3), wantDen)
		}
	}
}

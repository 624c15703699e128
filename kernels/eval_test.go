package kernels_test

import (
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/math/poly"
)

// TestEvaluations compares evaluations of tensors of many shapes, all at once, with the
// processor's.
func TestEvaluations(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(17, 18))
	var list []kernels.Evaluation
	var want []field.QM31
	for i, shape := range [][]int{{}, {1}, {37}, {4096}, {9, 1000}, {1, 7, 1, 64}, {3, 3, 3, 3, 3, 3, 3}, {2, 3, 2, 2, 2, 2, 2, 2, 2, 2}, {96, 96}, {5000}, {12345}} {
		values, v := integers(t, d, rng, model.Size(shape), []int{1, 2, 4}[i%3])
		point := vectorQM31(rng, model.Vars(shape)+1, 1)[1:]
		list = append(list, kernels.Evaluation{Values: values, Shape: shape, Point: point})
		want = append(want, poly.EvalInts(shape, ints.Int32s(v), point))
	}
	e, err := kernels.NewEvaluations(d, list)
	must(t, err)
	sums := put(t, d, make([]uint64, kernels.SumWords*len(list)))
	must(t, e.Run(d, kernels.Kept(sums)))
	words := get[uint64](t, d, sums, kernels.SumWords*len(list))
	got := make([]field.QM31, len(list))
	for i := range got {
		got[i] = kernels.FromSum(words[kernels.SumWords*i:])
	}
	same(t, "values", got, want)
}

package reduce

import (
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

// BenchmarkWiring evaluates the weights of views of 2^20 wired pairs, as a verifier
// does: a hostile key may ask for 2^26.
func BenchmarkWiring(b *testing.B) {
	const n = 1 << 20
	index := make([]int, n)
	for i := range index {
		index[i] = i * 12345 % n
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name    string
		out, in []int
		g       model.Group
	}{
		{"stride", []int{n}, []int{8 * n}, model.Group{Out: []int{0}, In: []int{0}, Base: 8*n - 1, Strides: []int{-7}}},
		{"windows", []int{n / 16, 16}, []int{n}, model.Group{Out: []int{0, 1}, In: []int{0}, Base: -3, Strides: []int{15, 1}}},
		{"index", []int{n}, []int{n}, model.Group{Out: []int{0}, In: []int{0}, Map: model.MapIndex, Index: index}},
		{"sum", []int{2}, []int{n}, model.Group{Out: []int{0}, In: []int{0}, Strides: []int{1}, Sum: []model.SumIndex{{Dim: n / 2, Stride: 1}}}},
		{"reshape", []int{n / 15, 5, 3}, []int{3, 5, n / 15}, model.Group{Out: []int{0, 1, 2}, In: []int{0, 1, 2}, Map: model.MapReshape}},
	} {
		w := plan.NewWiring(&model.View{Groups: []model.Group{c.g}}, c.out, c.in)
		r, end := randomPoint(rng, model.Vars(c.out)), randomPoint(rng, w.Vars)
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				weights(w, r, end)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(w.SummedPairs), "ns/pair")
		})
	}
}

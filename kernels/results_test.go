package kernels_test

import (
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/math/field"
)

// TestResultBuffer waits for sums and for elements, for those of a launch after one that nobody waited for,
// and for those of none.
func TestResultBuffer(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(41, 42))
	const vars = 5
	var batches []*kernels.SumcheckBatch
	var tables, sums [][]field.QM31
	for range 2 {
		a, b := vectorQM31(rng, 1<<vars, 1), vectorQM31(rng, 1<<vars, 1)
		batch, err := kernels.NewSumcheckBatch(d, []kernels.SumcheckInstance{{A: put(t, d, a), B: put(t, d, b), Vars: vars}})
		must(t, err)
		sum := field.Zero
		for i := range a {
			sum = sum.Add(a[i].Mul(b[i]))
		}
		batches, tables, sums = append(batches, batch), append(tables, append(a, b...)), append(sums, []field.QM31{sum})
	}
	box, err := d.NewResultBuffer(kernels.PostedWords(2 << vars))
	must(t, err)
	inner := func(i int) { must(t, kernels.SumcheckInner(d, batches[i], 1, vars, box.Post())) }
	rest := func(i int) { must(t, kernels.SumcheckRest(d, batches[i], 1, vars, nil, box.Post())) }
	wait := func(n int) []uint64 {
		words := make([]uint64, n)
		must(t, box.Wait(words))
		return words
	}
	for i := range batches {
		inner(i)
		same(t, "sum", []field.QM31{kernels.FromSum(wait(kernels.SumcheckRoundWords))}, sums[i])
		rest(i)
		same(t, "tables", kernels.Posted(wait(kernels.PostedWords(2<<vars))), tables[i])
	}
	rest(0)
	inner(1)
	same(t, "sum after what nobody waited for", []field.QM31{kernels.FromSum(wait(kernels.SumcheckRoundWords))}, sums[1])
	rest(0)
	rest(1)
	same(t, "tables after what nobody waited for", kernels.Posted(wait(kernels.PostedWords(2<<vars))), tables[1])
	box.Post()
	if err := box.Wait(make([]uint64, 1)); err == nil {
		t.Error("the numbers of no launch")
	}
	rest(0)
	same(t, "tables after that", kernels.Posted(wait(kernels.PostedWords(2<<vars))), tables[0])
	must(t, box.Close())
}

package whir

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prove-model/prove-model/prover/protocol/soundness"
)

// BenchmarkOpening measures a stack of 2^n values with eight terms, at the
// default security. Proof size and the time to commit and to verify are
// reported beside the time to open.
func BenchmarkOpening(b *testing.B) {
	for _, n := range []int{17, 20, 22} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { benchmarkOpening(b, n, soundness.DefaultConfig) })
	}
}

func benchmarkOpening(b *testing.B, n int, c soundness.Config) {
	rowVars, err := soundness.ChooseRowVars(c, []uint64{1 << n})
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	var terms []int
	for i := range 8 {
		terms = append(terms, n-i)
	}
	start := time.Now()
	o, err := newOpening(c, rng, []Layout{rows(rowVars, 1<<(n-rowVars))}, 1, terms)
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("levels %+v; set-up %v", o.params.Levels, time.Since(start))
	start = time.Now()
	commit(o.trees[0].Layout(), o.srcs[0])
	commit := time.Since(start)
	var proof []byte
	for b.Loop() {
		proof = o.prove()
	}
	start = time.Now()
	if err := o.verify(proof); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(time.Since(start).Microseconds())/1000, "verify-ms")
	b.ReportMetric(float64(len(proof))/1024, "proof-KB")
	b.ReportMetric(float64(commit.Microseconds())/1000, "commit-ms")
}

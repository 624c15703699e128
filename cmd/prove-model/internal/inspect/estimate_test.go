package inspect

import (
	"math"
	"testing"

	"github.com/prove-model/prove-model/internal/cost"
	"github.com/prove-model/prove-model/prover/math/hash"
)

// The estimates are those of what was measured: processor seconds, and less bytes than estimated, of
// prove-model --model SmolLM2-135M-Instruct.Q4_1.gguf --tokens 21 --mode w8a8 --hash … --no-cache.
func TestEstimate(t *testing.T) {
	const weights, witness = 163479371, 23722770
	for suite, x := range map[hash.Suite][2]float64{hash.Blake3: {2.56, 6.6}, hash.Poseidon2: {9.4, 7.0}} {
		commit, prove := cost.ProcessorTime(suite, weights, witness)
		if math.Abs(commit/x[0]-1) > 0.1 || math.Abs(prove/x[1]-1) > 0.1 {
			t.Errorf("suite %v: %.3g and %.3g s, measured %.3g", suite, commit, prove, x)
		}
	}
	e := estimate(weights, witness)
	if x := float64(e.Memory) / 2.26e9; x < 1 || x > 2 {
		t.Errorf("memory: %d, %.3g of what was measured", e.Memory, x)
	}
	if e := estimate(1000, 0); e.Prove != 0 || e.Commit <= 0 || e.Memory <= 0 {
		t.Errorf("%+v", e)
	}
}

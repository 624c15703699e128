package inspect

import (
	"math"
	"testing"
)

// The estimates are those of what was measured: processor seconds and bytes of the
// commands of docs/benchmarks.md.
func TestEstimate(t *testing.T) {
	e := estimate(163602248, 28419975) // SmolLM2-135M in w8a8, 21 tokens
	for what, x := range map[string][2]float64{"proof": {e.Prove, 16.06}, "memory": {float64(e.Memory), 3.595e9}} {
		if math.Abs(x[0]/x[1]-1) > 0.1 {
			t.Errorf("%s: %.3g, measured %.3g", what, x[0], x[1])
		}
	}
	if e := estimate(1000, 0); e.Prove != 0 || e.Commit <= 0 || e.Memory <= 0 {
		t.Errorf("%+v", e)
	}
}

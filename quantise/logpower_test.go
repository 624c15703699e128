package quantise

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/fixed"
	"github.com/prove-model/prove-model/quantise/internal/networks"
)

// The logarithm of a power is right for powers of a unit's square as for those that fill
// the tensor, beside each other.
func TestLogPowerOfAllMagnitudes(t *testing.T) {
	const rows = 400
	for _, epsilon := range []float64{0, 1e-14, 1e-10, 1e-3} {
		for _, width := range []int{2, 7, 300} {
			rng := rand.New(rand.NewPCG(31, uint64(width)))
			n := networks.New([]int{rows, width})
			g := n.WithOutput(t, n.LogPower(graph.LogPower{Epsilon: epsilon}, n.In[0]))
			x := make([]float64, rows*width)
			for i := range x {
				// What a scale of 2^−24 has, so that nothing is rounded before.
				size := fixed.Pow2(-rng.IntN(24))
				x[i] = math.RoundToEven(rng.Float64()*size*(1<<24)) / (1 << 24)
				if i%width == 0 {
					x[i] = max(x[i], fixed.Pow2(-24)) // no row is 0
				}
			}
			x[0] = 1
			m, _, got, want := run(t, g, [][]float64{x}, Options{Formats: Formats{g.Inputs[0].Name: {Bits: 26}}})
			for i, y := range want[0] {
				if d := math.Abs(got[0][i] - y); d > 3e-4 {
					t.Fatalf("epsilon %g, width %d: row %d is %.6f, not %.6f", epsilon, width, i, got[0][i], y)
				}
			}
			if len(m.Blocks) != 1 {
				t.Fatalf("%d blocks", len(m.Blocks))
			}
		}
	}
}

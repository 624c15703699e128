package quantise

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/internal/networks"
)

// Magnitudes of all sizes are as exact as the numbers that they are of: a root of a
// rounded sum of squares would be off by 1/256 of the range near zero.
func TestMagnitudesOfAnySize(t *testing.T) {
	const rows = 64
	rng := rand.New(rand.NewPCG(1, 2))
	x := make([]float64, 2*rows)
	for i := range rows {
		size, angle := math.Exp2(-float64(i%16)), rng.Float64()*2*math.Pi
		x[2*i], x[2*i+1] = size*math.Cos(angle), size*math.Sin(angle)
	}
	n := networks.New([]int{rows, 2})
	g := n.WithOutput(t, n.Apply(graph.Sqrt, n.Reduce(graph.Sum, n.Mul(n.In[0], n.In[0]), []int{1}, true)))
	_, _, got, want := run(t, g, [][]float64{x}, Options{})
	for i, w := range want[0] {
		if d := math.Abs(got[0][i] - w); d > 3e-4 {
			t.Errorf("row %d of size %.2g is off by %.2g", i, w, d)
		}
	}
}

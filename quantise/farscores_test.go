package quantise

import (
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/quantise/internal/networks"
)

// Scores down to −3000, of which those near the greatest count, as logarithms of small
// probabilities are: shares are right to 0.1 %, wherever in the range the greatest is.
func TestSoftmaxOfWideScores(t *testing.T) {
	const rows, width = 100, 5
	rng := rand.New(rand.NewPCG(51, 52))
	x := make([]float64, rows*width)
	for i := range rows {
		top := -2900 * rng.Float64()
		for j := range width {
			x[i*width+j] = top - 8*rng.Float64()*float64(1+99*(j%2))
		}
	}
	x[0] = -3000
	n := networks.New([]int{rows, width})
	g := n.WithOutput(t, n.Softmax(n.In[0], 1))
	for bits, most := range map[int]float64{16: 1, 24: 1e-3} {
		_, _, got, want := run(t, g, [][]float64{x}, Options{Formats: Formats{g.Inputs[0].Name: {Bits: bits}, g.Outputs[0]: {Bits: 20}}})
		a := Compare(got[0], want[0])
		if a.Relative > most || bits == 16 && a.Relative < 1e-2 {
			t.Errorf("%d bits: error %.4f %%", bits, 100*a.Relative)
		}
	}
}

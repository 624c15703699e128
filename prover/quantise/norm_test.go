package quantise

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
)

// normsOf are the kinds of norm, over the last axis.
var normsOf = map[string]graph.Norm{
	"LayerNorm": {Centred: true, Epsilon: 1e-5}, "RMSNorm": {Epsilon: 1e-6}, "L2": {Sum: true},
}

// Rows far smaller than others, and rows with far larger elements, are as exact as
// any.
func TestNormOfUnequalRows(t *testing.T) {
	const rows = 8
	for name, op := range normsOf {
		for _, width := range []int{16, 100, 576, 2048} {
			for _, c := range []struct{ small, outlier float64 }{
				{1, 1}, {10, 1}, {100, 1}, {1000, 1}, {1, 50}, {1, 500}, {1, 5000}, {10, 500},
			} {
				t.Run(fmt.Sprintf("%s of %d, %g smaller, %g larger", name, width, c.small, c.outlier), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(1, uint64(width)))
					op.Axes = []int{1}
					n := newNetwork([]int{rows, width})
					g := n.graph(t, n.Norm(op, n.in[0]))
					x := make([]float64, rows*width)
					for i := range x {
						x[i] = rng.NormFloat64() + 0.3
						if i/width == 3 {
							x[i] /= c.small
						}
					}
					x[5*width+7] *= c.outlier
					_, _, got, want := run(t, g, [][]float64{x}, Options{})
					a := Compare(got[0], want[0])
					// Every row by itself, too.
					worst := 0.0
					for i := range rows {
						row := Compare(got[0][i*width:][:width], want[0][i*width:][:width])
						worst = math.Max(worst, row.Relative)
					}
					t.Logf("error %.4f %% of the range, of a row's %.4f %%", 100*a.Relative, 100*worst)
					if a.Relative > 0.001 || worst > 0.002 {
						t.Errorf("error %.4f %% of the range, of a row's %.4f %%", 100*a.Relative, 100*worst)
					}
				})
			}
		}
	}
}

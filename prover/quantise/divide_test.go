package quantise

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/prover/forward"
	"github.com/prove-model/prove-model/prover/model"
	"pgregory.net/rapid"
)

// Division by computed values of either sign or both, with broadcasting:
// accurate on what it was calibrated with, within bounds on anything.
func TestDivision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		rows, width := rapid.IntRange(1, 4).Draw(t, "rows"), rapid.IntRange(1, 9).Draw(t, "width")
		shape := []int{rows, width}
		by := [][]int{{rows, width}, {width}, {rows, 1}, {1}, {}}[rapid.IntRange(0, 4).Draw(t, "by")]
		n := newNetwork(shape, by)
		g := n.graph(t, n.Div(n.in[0], n.in[1]))
		scale := math.Exp(rapid.Float64Range(-8, 8).Draw(t, "scale"))
		ratio := math.Exp(rapid.Float64Range(0, 3).Draw(t, "ratio"))
		signs := rapid.IntRange(0, 2).Draw(t, "signs")
		num, den := make([]float64, model.Size(shape)), make([]float64, model.Size(by))
		for i := range num {
			num[i] = rng.NormFloat64()
		}
		for i := range den {
			den[i] = scale * (1 + (ratio-1)*rng.Float64())
			if signs == 1 || signs == 2 && rng.IntN(2) == 1 {
				den[i] = -den[i]
			}
		}
		values, err := g.RunFloat([][]float64{num, den})
		if err != nil {
			t.Fatal(err)
		}
		m, err := Quantise(g, Ranges(values), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, far := range []bool{false, true} {
			if far {
				for _, x := range [][]float64{num, den} {
					for i := range x {
						x[i] = []float64{1e30, -1e30, 0, x[i] / 1000}[rng.IntN(4)]
					}
				}
			}
			ints, _, err := m.QuantiseInput([][]float64{num, den})
			if err != nil {
				t.Fatal(err)
			}
			w, err := forward.Run(context.Background(), m.Graph, m.Weights, ints)
			if err != nil {
				t.Fatal(err)
			}
			checkWitness(t, m, w)
			if a := Compare(m.Outputs(w)[0], values["y"]); !far && a.Relative > 0.02 {
				t.Fatalf("error %g of the range %g", a.MaxError, a.Range)
			}
		}
	})
}

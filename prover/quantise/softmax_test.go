package quantise

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/prover/forward"
	"pgregory.net/rapid"
)

// Rows of any length and sharpness: short ones divide in one step, long ones
// in two limbs.
func TestSoftmax(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		rows := rapid.IntRange(1, 3).Draw(t, "rows")
		width := rapid.OneOf(rapid.IntRange(1, 40), rapid.IntRange(1, 1100)).Draw(t, "width")
		shape := []int{rows, width}
		n := newNetwork(shape)
		g := n.graph(t, n.Softmax(n.in[0], 1))
		scale := rapid.Float64Range(0, 5).Draw(t, "scale")
		x := make([]float64, rows*width)
		for i := range x {
			x[i] = scale * rng.NormFloat64()
		}
		values, err := g.RunFloat([][]float64{x})
		if err != nil {
			t.Fatal(err)
		}
		m, err := Quantise(g, Ranges(values), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, far := range []bool{false, true} {
			if far {
				for i := range x {
					x[i] = math.Copysign(1e30, rng.NormFloat64())
				}
			}
			in, _, err := m.QuantiseInput([][]float64{x})
			if err != nil {
				t.Fatal(err)
			}
			w, err := forward.Run(context.Background(), m.Graph, m.Weights, in)
			if err != nil {
				t.Fatal(err)
			}
			checkWitness(t, m, w)
			// A result has 12 bits; the rest is the input's rounding.
			if a := Compare(m.Outputs(w)[0], values["y"]); !far && a.MaxError > 0.01*a.Range+1.0/(1<<13) {
				t.Fatalf("error %g of the range %g", a.MaxError, a.Range)
			}
		}
	})
}

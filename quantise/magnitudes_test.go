package quantise

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/internal/networks"
)

// Tables whose features differ by nine orders of magnitude, scaled in the graph: rows
// that calibration has not seen are right to 0.2 % of the range.
func TestFeaturesOfAllMagnitudes(t *testing.T) {
	const rows, features = 32, 10
	rng := rand.New(rand.NewPCG(9, 10))
	mean, deviation := make([]float64, features), make([]float64, features)
	for j := range mean {
		deviation[j] = math.Pow(10, float64(j-4)) // 10^−4 to 10^5
		mean[j] = deviation[j] * 3 * rng.NormFloat64()
	}
	table := func() []float64 {
		x := make([]float64, rows*features)
		for i := range x {
			x[i] = mean[i%features] + float64(deviation[i%features]*rng.NormFloat64())
		}
		return x
	}
	perFeature := func(n networks.Network, f func(j int) float64) graph.Value { return n.Filled([]int{features}, f) }
	for name, scaled := range map[string]func(n networks.Network) graph.Value{
		"mean and deviation": func(n networks.Network) graph.Value {
			x := n.Sub(n.In[0], perFeature(n, func(j int) float64 { return mean[j] }))
			return n.Div(x, perFeature(n, func(j int) float64 { return deviation[j] }))
		},
		"factor and shift": func(n networks.Network) graph.Value {
			x := n.Mul(n.In[0], perFeature(n, func(j int) float64 { return 1 / deviation[j] }))
			return n.Add(x, perFeature(n, func(j int) float64 { return -mean[j] / deviation[j] }))
		},
	} {
		for _, depth := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s, %d layers", name, depth), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(11, uint64(depth)))
				n := networks.New([]int{rows, features})
				x := scaled(n)
				for range depth - 1 {
					x = n.Relu(n.Dense(x, 32, rng))
				}
				g := n.WithOutput(t, n.Dense(x, 3, rng))
				seen := table()
				values, err := g.RunFloat([][]float64{seen})
				if err != nil {
					t.Fatal(err)
				}
				m, _, err := Choose(context.Background(), g, []Sample{{Graph: g, Inputs: [][]float64{seen}}}, Ranges(values), Options{})
				if err != nil {
					t.Fatal(err)
				}
				unseen := [][]float64{table()}
				if values, err = g.RunFloat(unseen); err != nil {
					t.Fatal(err)
				}
				_, got, want := runModel(t, m, g, unseen, values)
				a := Compare(got[0], want[0])
				t.Logf("error %.4f %% of the range", 100*a.Relative)
				if a.Relative > 0.002 {
					t.Errorf("error %.4f %% of the range", 100*a.Relative)
				}
			})
		}
	}
}

package quantise

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/internal/networks"
	"github.com/prove-model/prove-model/quantise/lower"
)

// Channels of 1e5 beside channels of 1 are as right as others, where what reads them evens them out
// again; and no mode is worse than another.
func TestChannelsOfManySizes(t *testing.T) {
	const rows, width = 16, 32
	size := func(i int) float64 { return []float64{1e5, 1}[i%2] }
	rng := rand.New(rand.NewPCG(71, 72))
	normal := func(f func(i int) float64) func(i int) float64 {
		return func(i int) float64 { return rng.NormFloat64() / 6 * f(i) }
	}
	one := func(int) float64 { return 1 }
	for name, c := range map[string]struct {
		build func(n networks.Network) graph.Value
		large bool // whether inputs are
	}{
		"weights": {func(n networks.Network) graph.Value {
			return n.MatMul(n.Relu(n.In[0]), n.Filled([]int{width, 8}, normal(func(i int) float64 { return 1 / size(i/8) })))
		}, true},
		"factors": {func(n networks.Network) graph.Value {
			x := n.MatMul(n.In[0], n.Filled([]int{width, width}, normal(one)))
			x = n.Relu(n.Mul(x, n.Filled([]int{width}, size)))
			return n.MatMul(n.Div(x, n.Filled([]int{width}, size)), n.Filled([]int{width, 8}, normal(one)))
		}, false},
		"mean": {func(n networks.Network) graph.Value {
			x := n.Mul(n.Mul(n.In[0], n.In[0]), n.Filled([]int{width}, size))
			return n.Div(n.Sub(x, n.Reduce(graph.Mean, x, []int{0}, true)), n.Filled([]int{width}, size))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			net := networks.New([]int{rows, width})
			g := net.WithOutput(t, c.build(net))
			draw := func() [][]float64 {
				x := make([]float64, rows*width)
				for i := range x {
					if x[i] = rng.NormFloat64(); c.large {
						x[i] *= size(i % width)
					}
				}
				return [][]float64{x}
			}
			in, unseen := draw(), draw()
			values, err := g.RunFloat(in)
			if err != nil {
				t.Fatal(err)
			}
			wanted, err := g.RunFloat(unseen)
			if err != nil {
				t.Fatal(err)
			}
			for _, mode := range []string{lower.ModeAuto, lower.ModeExact} {
				m, choice, err := Choose(context.Background(), g, []Sample{{Graph: g, Inputs: in}}, Ranges(values), Options{Mode: mode})
				if err != nil {
					t.Fatal(err)
				}
				_, got, want := runModel(t, m, g, unseen, wanted)
				a := Compare(got[0], want[0])
				t.Logf("%s: %.3f %%, of other numbers %.3f %%", mode, 100*choice.Error, 100*a.Relative)
				if choice.Error > Target || a.Relative > 2*Target {
					t.Errorf("%s: error %.3f %%, of other numbers %.3f %%", mode, 100*choice.Error, 100*a.Relative)
				}
			}
		})
	}
}

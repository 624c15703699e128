package precision

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/internal/networks"
	"github.com/prove-model/prove-model/quantise/lower"
)

// Outputs count alike in what a search is judged by, whatever their units.
func TestSpreadHasNoUnits(t *testing.T) {
	var spreads [2]float64
	for i, unit := range []float64{1, 1 << 12} {
		rng := rand.New(rand.NewPCG(7, 8))
		n := networks.New([]int{4, 32})
		h := n.Apply(graph.Tanh, n.Dense(n.In[0], 32, rng))
		n.Output("first", n.Mul(n.In[0], n.Number(unit)))
		n.Output("second", n.Dense(h, 8, rng))
		g, err := n.Graph()
		if err != nil {
			t.Fatal(err)
		}
		in := [][]float64{networks.Normal(4*32, rng)}
		values, err := g.RunFloat(in)
		if err != nil {
			t.Fatal(err)
		}
		opts, err := lower.Options{}.WithDefaults()
		if err != nil {
			t.Fatal(err)
		}
		s := &search{ctx: context.Background(), fg: g, ranges: lower.Ranges(values), opts: opts, samples: []Sample{{Graph: g, Inputs: in}}}
		a, err := s.try(nil)
		if err != nil {
			t.Fatal(err)
		}
		spreads[i] = a.spread
	}
	if a, b := spreads[0], spreads[1]; a == 0 || math.Abs(a-b) > 0.01*a {
		t.Errorf("spreads of %g and %g", a, b)
	}
}

package quantise

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/internal/networks"
)

// Masks, positions and identities are not committed to, and are what they were.
func TestFormulas(t *testing.T) {
	const rows = 5
	causal := func(n networks.Network, low float64) graph.Value {
		return n.Filled([]int{rows, rows}, func(i int) float64 {
			if i%rows > i/rows {
				return low
			}
			return 0
		})
	}
	for name, c := range map[string]struct {
		build func(n networks.Network) graph.Value
		kind  model.FormulaKind
	}{
		"an added mask": {func(n networks.Network) graph.Value {
			return n.Softmax(n.Add(n.In[0], causal(n, math.Inf(-1))), 2)
		}, model.AtLeast},
		"a mask for two of each": {func(n networks.Network) graph.Value {
			mask := n.Filled([]int{2, rows, rows}, func(i int) float64 {
				if i%rows > i/rows%rows {
					return -1e30
				}
				return 0
			})
			return n.Softmax(n.Add(n.In[0], mask), 2)
		}, model.AtLeast},
		"a small bias of a triangle": {func(n networks.Network) graph.Value { return n.Add(n.In[0], causal(n, -0.5)) }, model.AtMost},
		"an identity": {func(n networks.Network) graph.Value {
			return n.Add(n.In[0], n.Filled([]int{rows, rows}, func(i int) float64 {
				if i%rows == i/rows {
					return 1
				}
				return 0
			}))
		}, model.Equal},
		"positions": {func(n networks.Network) graph.Value {
			return n.Add(n.Reshape(n.In[0], []int{2, rows * rows}), n.Filled([]int{rows * rows}, func(i int) float64 { return float64(i) }))
		}, model.Progression},
	} {
		t.Run(name, func(t *testing.T) {
			n := networks.New([]int{2, rows, rows})
			g := n.WithOutput(t, c.build(n))
			rng := rand.New(rand.NewPCG(1, 2))
			x := make([]float64, 2*rows*rows)
			for i := range x {
				x[i] = rng.NormFloat64()
			}
			m, _, got, want := run(t, g, [][]float64{x}, Options{})
			found := false
			for i := range m.Graph.Tensors {
				tensor := &m.Graph.Tensors[i]
				found = found || tensor.Kind == model.ByFormula && tensor.Formula.Kind == c.kind
				if tensor.Kind == model.Fixed && len(tensor.Shape) > 0 && model.Size(tensor.Shape)%rows == 0 {
					t.Errorf("%q is committed to", tensor.Name)
				}
			}
			if !found {
				t.Error("no formula of the kind")
			}
			if a := Compare(got[0], want[0]); a.Relative > 0.001 {
				t.Errorf("error %.4f %% of the range", 100*a.Relative)
			}
		})
	}
}

package lower

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/internal/networks"
)

// The norm of a normalised row is within what products are bounded by, whatever the
// row: small, with one large entry, or all at the end of the range.
func TestRowNorms(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	const rows, width = 40, 48
	for _, build := range []func(n networks.Network) graph.Value{
		func(n networks.Network) graph.Value {
			return n.Norm(graph.Norm{Axes: []int{1}, Centred: true, Epsilon: 1e-5}, n.In[0])
		},
		func(n networks.Network) graph.Value {
			return n.Norm(graph.Norm{Axes: []int{1}, Epsilon: 1e-6}, n.In[0])
		},
	} {
		n := networks.New([]int{rows, width})
		g := n.WithOutput(t, n.Dense(build(n), 8, rng))
		x := networks.Normal(rows*width, rng)
		for r := range rows {
			scale := math.Exp2(float64(r%14) - 12)
			for i := range width {
				v := &x[r*width+i]
				switch r % 3 {
				case 0:
					*v *= scale
				case 1:
					*v = math.Copysign(4*scale, *v)
				default:
					*v *= 1e-3
					if i == r%width {
						*v = 4
					}
				}
			}
		}
		values, err := g.RunFloat([][]float64{x})
		if err != nil {
			t.Fatal(err)
		}
		l := newLowering(g, Ranges(values), Options{Mode: ModeAuto, WeightBits: 16, ActBits: 16, Headroom: 2, MaxTableBits: 20}, &Memory{}).choose()
		if len(l.RowNorms) != 1 {
			t.Fatalf("%d norms", len(l.RowNorms))
		}
		m := l.finish(&model.Template{Graph: l.Circuit}, model.Instance{})
		l.memory.Fill(m)
		ints, _, err := m.QuantiseInput([][]float64{x})
		if err != nil {
			t.Fatal(err)
		}
		w, err := forward.Run(t.Context(), m.Graph, m.Weights, ints)
		if err != nil {
			t.Fatal(err)
		}
		for id, most := range l.RowNorms {
			largest := 0.0
			v := w.Tensor(id)
			for ; len(v) > 0; v = v[width:] {
				square := 0.0
				for _, x := range v[:width] {
					square += float64(x) * float64(x)
				}
				largest = math.Max(largest, math.Sqrt(square))
			}
			entries := math.Sqrt(width) * float64(l.Magnitude(id))
			t.Logf("rows of norm %.0f, bound %.0f, by the entries %.0f", largest, most, entries)
			if largest > most || largest < most*0.9 || most > entries/2 {
				t.Errorf("rows of norm %g, bound %g, by the entries %g", largest, most, entries)
			}
		}
	}
}

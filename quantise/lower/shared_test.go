package lower

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/internal/networks"
)

// What is remembered of the weights from one model to the next is what the next one
// would find: the trials of a search give the models that their formats give alone.
func TestSharedWeights(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	normed := func() *graph.Graph {
		n := networks.New([]int{1, 12, 32})
		h := n.Dense(n.Normed(n.In[0], rng), 64, rng)
		return n.WithOutput(t, n.Dense(n.Apply(graph.Gelu, h), 32, rng))
	}()
	for _, of := range []struct {
		name  string
		graph *graph.Graph
		x     []float64
	}{
		{"norm", normed, networks.Normal(12*32, rng)},
		{"table", networks.Tabular(t, rng), []float64{50.8, 44173, 0.0387, 2.76, 1684}},
	} {
		t.Run(of.name, func(t *testing.T) {
			values, err := of.graph.RunFloat([][]float64{of.x})
			if err != nil {
				t.Fatal(err)
			}
			ranges := Ranges(values)
			all := func(f Format) Formats {
				formats := Formats{}
				for _, name := range Values(of.graph) {
					formats[name] = f
				}
				return formats
			}
			var shared Memory
			// Back and forth: what the last model has, and what the one before it has.
			for i, f := range []Formats{nil, all(Format{20, 13}), all(Format{15, 10}), all(Format{20, 13}), all(Format{14, 10}), all(Format{20, 15}), nil} {
				opts := Options{Formats: f}
				m, err := Lower(of.graph, ranges, opts, &shared)
				if err != nil {
					t.Fatal(err)
				}
				shared.Fill(m)
				alone, err := Quantise(of.graph, ranges, opts)
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(m.Circuit, alone.Circuit) || !reflect.DeepEqual(m.Weights, alone.Weights) {
					t.Errorf("model %d, %v, is another one", i, f)
				}
			}
		})
	}
}

package quantise

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/fixed"
	"github.com/prove-model/prove-model/quantise/internal/networks"
	"github.com/prove-model/prove-model/quantise/lower"
)

// manySizes are numbers from e^−6 to e^6, spread evenly over the powers of e, of both signs if
// that is asked for.
func manySizes(rng *rand.Rand, n int, signed bool) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = math.Exp(12*rng.Float64() - 6)
		if signed && rng.IntN(2) == 0 {
			x[i] = -x[i]
		}
	}
	return x
}

// What reads a value by the size of each entry is right for entries of all sizes, in both modes
// and on samples that calibration has not met, within what the static bounds show.
func TestOctaves(t *testing.T) {
	const n = 96
	for name, c := range map[string]struct {
		build  func(n networks.Network) graph.Value
		inputs int
		signed bool
	}{
		"logarithm":    {func(n networks.Network) graph.Value { return n.Apply(graph.Log, n.In[0]) }, 1, false},
		"inverse root": {func(n networks.Network) graph.Value { return n.Apply(graph.Reciprocal, n.Apply(graph.Sqrt, n.In[0])) }, 1, false},
		"reciprocal":   {func(n networks.Network) graph.Value { return n.Apply(graph.Reciprocal, n.In[0]) }, 1, true},
		"power":        {func(n networks.Network) graph.Value { return n.Apply(graph.Pow, n.In[0], -0.7) }, 1, false},
		"geometric mean": {func(n networks.Network) graph.Value {
			return n.Apply(graph.Exp, n.Reduce(graph.Mean, n.Apply(graph.Log, n.In[0]), []int{1}, true))
		}, 1, false},
		"share":    {func(n networks.Network) graph.Value { return n.Div(n.In[0], n.Add(n.In[0], n.In[1])) }, 2, false},
		"quotient": {func(n networks.Network) graph.Value { return n.Div(n.In[0], n.In[1]) }, 2, true},
		"square and a bit": {func(n networks.Network) graph.Value {
			return n.Div(n.In[1], n.Add(n.Mul(n.In[0], n.In[0]), n.Number(1e-3)))
		}, 2, true},
	} {
		for _, mode := range []string{lower.ModeAuto, lower.ModeExact} {
			t.Run(name+" "+mode, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(51, 52))
				shapes := [][]int{{4, n / 4}, {4, n / 4}}[:c.inputs]
				net := networks.New(shapes...)
				g := net.WithOutput(t, c.build(net))
				draw := func() (in [][]float64) {
					for range shapes {
						in = append(in, manySizes(rng, n, c.signed))
					}
					return in
				}
				var samples []Sample
				var runs []map[string][]float64
				for range 2 {
					in := draw()
					values, err := g.RunFloat(in)
					if err != nil {
						t.Fatal(err)
					}
					samples, runs = append(samples, Sample{Graph: g, Inputs: in}), append(runs, values)
				}
				m, choice, err := Choose(context.Background(), g, samples, Ranges(runs...), Options{Mode: mode})
				if err != nil {
					t.Fatal(err)
				}
				if err := certifiable(t, m); err != nil {
					t.Error(err)
				}
				in := draw()
				values, err := g.RunFloat(in)
				if err != nil {
					t.Fatal(err)
				}
				_, got, want := runModel(t, m, g, in, values)
				a := Compare(got[0], want[0])
				t.Logf("at first %.3f %%, then %.3f %%, of other numbers %.3f %%", 100*choice.First, 100*choice.Error, 100*a.Relative)
				if choice.First < 0.01 && name != "geometric mean" {
					t.Error("shared formats would do")
				}
				if choice.Error > 2*Target || a.Relative > 2*Target {
					t.Errorf("error %.3f %%, of other numbers %.3f %%", 100*choice.Error, 100*a.Relative)
				}
			})
		}
	}
}

// The key of an octave rises with the integer, and its middle is close to it.
func TestOctaveAt(t *testing.T) {
	last := -1.0
	for key := range int64(1 << 16) {
		x := fixed.OctaveAt(key)
		if x <= last || key < 1<<12 && x != float64(key) || x > last+math.Max(1, 4*fixed.OctaveError*x) {
			t.Fatalf("key %d stands for %g, the one before for %g", key, x, last)
		}
		last = x
	}
}

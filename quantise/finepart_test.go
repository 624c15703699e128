package quantise

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/internal/networks"
	"github.com/prove-model/prove-model/quantise/lower"
)

// precise compares a network in two formats, on an input and on others that calibration
// has not seen, far larger ones among them. It returns the errors of the first.
func precise(t *testing.T, g *graph.Graph, in [][]float64, formats ...Formats) []float64 {
	t.Helper()
	var errors []float64
	for _, f := range formats {
		m, _, got, want := run(t, g, in, Options{Formats: f})
		errors = append(errors, Compare(got[0], want[0]).Relative)
		rng := rand.New(rand.NewPCG(1, 2))
		for try := range 3 {
			var x [][]float64
			for _, in := range in {
				far := networks.Normal(len(in), rng)
				for i := range far {
					far[i] *= math.Pow(1e3, float64(try))
				}
				x = append(x, far)
			}
			runChecked(t, m, x)
		}
	}
	t.Logf("errors of %.2g", errors)
	return errors
}

// Weights in two parts keep what their products leave of entries that differ less than
// they are large.
func TestWeightsInTwoParts(t *testing.T) {
	const width = 64
	rng := rand.New(rand.NewPCG(5, 6))
	n := networks.New([]int{4, width})
	w := make([]float64, width*width)
	for i := range w {
		w[i] = rng.NormFloat64()
	}
	for j := range width {
		mean := 0.0
		for i := range width {
			mean += w[width*i+j] / width
		}
		for i := range width {
			w[width*i+j] -= mean
		}
	}
	g := n.WithOutput(t, n.Relu(n.MatMul(n.In[0], n.Filled([]int{width, width}, func(i int) float64 { return w[i] }))))
	in := make([]float64, 4*width)
	for i := range in {
		in[i] = 8 + 0.1*rng.NormFloat64()
	}
	formats := func(weights int) Formats {
		f := Formats{g.Inputs[0].Name: {Bits: 20}}
		for _, n := range g.Nodes {
			f[n.Output] = Format{Bits: 18, Weights: weights}
		}
		return f
	}
	if e := precise(t, g, [][]float64{in}, formats(lower.PartWeights), formats(lower.FormatWeights)); e[1] > e[0]/8 {
		t.Errorf("errors of %g in one part, and %g in two", e[0], e[1])
	}
}

// A product of two wide matrices takes both in limbs.
func TestLimbsOfBothFactors(t *testing.T) {
	const rows, width = 24, 48
	rng := rand.New(rand.NewPCG(7, 8))
	n := networks.New([]int{rows, width})
	y := n.Dense(n.In[0], width, rng)
	g := n.WithOutput(t, n.Apply(graph.Tanh, n.MatMul(n.Dense(n.In[0], width, rng), n.Transpose(y, []int{1, 0}))))
	formats := func(weights int) Formats {
		f := Formats{g.Inputs[0].Name: {Bits: 20}}
		for _, node := range g.Nodes {
			f[node.Output] = Format{Bits: 20, Weights: 15}
			if byConstant(g, node) {
				continue
			}
			f[node.Output] = Format{Bits: 20}
			if _, ok := node.Op.(graph.MatMul); ok {
				f[node.Output] = Format{Bits: 20, Weights: weights}
			}
		}
		return f
	}
	if e := precise(t, g, [][]float64{networks.Normal(rows*width, rng)}, formats(0), formats(15)); e[1] > e[0]/4 {
		t.Errorf("errors of %g without limbs, and %g with them", e[0], e[1])
	}
}

// With more than LimbedBits nothing of a product entry by entry is left out, whatever the
// factors' sizes, and means and multiples by a number keep what values have.
func TestWholeProducts(t *testing.T) {
	const rows, width = 24, 15
	for name, of := range map[string]func(n networks.Network, x, y graph.Value) graph.Value{
		"product": func(n networks.Network, x, y graph.Value) graph.Value { return n.Apply(graph.Tanh, n.Mul(x, y)) },
		"gate": func(n networks.Network, x, _ graph.Value) graph.Value {
			return n.Apply(graph.Tanh, n.Mul(x, n.Apply(graph.Sigmoid, n.Reduce(graph.Mean, x, []int{0}, true))))
		},
		"mean": func(n networks.Network, x, _ graph.Value) graph.Value {
			return n.Apply(graph.Tanh, n.Reduce(graph.Mean, x, []int{1}, false))
		},
		"multiple": func(n networks.Network, x, y graph.Value) graph.Value { return n.Mul(n.Add(x, y), n.Number(-0.2582)) },
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(9, 10))
			n := networks.New([]int{rows, width}, []int{rows, width})
			g := n.WithOutput(t, of(n, n.In[0], n.In[1]))
			formats := func(bits int) Formats {
				f := Formats{g.Inputs[0].Name: {Bits: 24}, g.Inputs[1].Name: {Bits: 24}}
				for _, node := range g.Nodes {
					f[node.Output] = Format{Bits: bits}
				}
				return f
			}
			in := [][]float64{networks.Normal(rows*width, rng), networks.Normal(rows*width, rng)}
			if e := precise(t, g, in, formats(lower.LimbedBits), formats(22)); e[1] > e[0]/4 || e[1] > 4e-6 {
				t.Errorf("errors of %g with %d bits, and %g with 22", e[0], lower.LimbedBits, e[1])
			}
		})
	}
}

// Functions that bend are close to parabolas where values are far larger than what they
// bend on.
func TestBends(t *testing.T) {
	const rows, width = 64, 64
	for name, of := range map[string]func(n networks.Network, x graph.Value) graph.Value{
		"hard swish": func(n networks.Network, x graph.Value) graph.Value {
			return n.Mul(x, n.Clip(n.Add(x, n.Number(3)), 0, 6))
		},
		"silu":    func(n networks.Network, x graph.Value) graph.Value { return n.Mul(x, n.Apply(graph.Sigmoid, x)) },
		"sigmoid": func(n networks.Network, x graph.Value) graph.Value { return n.Apply(graph.Sigmoid, x) },
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(11, 12))
			n := networks.New([]int{rows, width})
			w := n.Filled([]int{width, width}, func(int) float64 { return math.Round(32*rng.NormFloat64()) / 8 })
			g := n.WithOutput(t, of(n, n.MatMul(n.In[0], w)))
			formats := func(bits int) Formats {
				f := Formats{g.Inputs[0].Name: {Bits: 24}}
				for _, node := range g.Nodes {
					f[node.Output] = Format{Bits: bits, Weights: lower.FormatWeights}
				}
				return f
			}
			if e := precise(t, g, [][]float64{networks.Normal(rows*width, rng)}, formats(lower.LimbedBits), formats(22)); e[1] > e[0]/4 {
				t.Errorf("errors of %g with %d bits, and %g with 22", e[0], lower.LimbedBits, e[1])
			}
		})
	}
}

// byConstant reports whether an operand of a product is constant.
func byConstant(g *graph.Graph, n *graph.Node) bool {
	return (graph.Kind(n.Op) == "MatMul" || n.Op == graph.Mul) && (g.Consts[n.Inputs[0]] != nil || g.Consts[n.Inputs[1]] != nil)
}

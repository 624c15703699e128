package quantise

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/internal/networks"
)

// Functions of wide values are as fine as their formats, where they are smooth, and
// right where they are not.
func TestFineFunctions(t *testing.T) {
	const rows, width = 16, 64
	for name, c := range map[string]struct {
		of   func(n networks.Network, x graph.Value) graph.Value
		most float64 // error of the range
	}{
		"silu": {func(n networks.Network, x graph.Value) graph.Value { return n.Mul(x, n.Apply(graph.Sigmoid, x)) }, 1e-5},
		"tanh": {func(n networks.Network, x graph.Value) graph.Value { return n.Apply(graph.Tanh, x) }, 1e-5},
		"exp":  {func(n networks.Network, x graph.Value) graph.Value { return n.Apply(graph.Exp, x) }, 1e-5},
		"hardswish": {func(n networks.Network, x graph.Value) graph.Value {
			return n.Mul(x, n.Clip(n.Add(x, n.Number(3)), 0, 6))
		}, 1e-4},
		"fast waves": {func(n networks.Network, x graph.Value) graph.Value {
			return n.Apply(graph.Sin, n.Mul(x, n.Number(1000)))
		}, 0.5},
		"pole": {func(n networks.Network, x graph.Value) graph.Value { return n.Apply(graph.Reciprocal, x) }, 0.1},
	} {
		for _, bits := range []int{20, 22} {
			t.Run(fmt.Sprintf("%s, %d bits", name, bits), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(1, 2))
				n := networks.New([]int{rows, width})
				w := n.Filled([]int{width, width}, func(int) float64 { return math.Round(32*rng.NormFloat64()) / 256 })
				x := n.MatMul(n.In[0], w)
				y := c.of(n, x)
				g := n.WithOutput(t, y)
				formats := Formats{"in0": {Bits: bits}}
				for _, node := range g.Nodes {
					formats[node.Output] = Format{Bits: bits, Weights: 15}
				}
				m, wit, got, want := run(t, g, [][]float64{networks.Normal(rows*width, rng)}, Options{Formats: formats})
				a := Compare(got[0], want[0])
				t.Logf("error %.6f %% of the range", 100*a.Relative)
				if a.Relative > c.most {
					t.Errorf("error %.6f %% of the range", 100*a.Relative)
				}
				if s := m.Saturation(wit); len(s) != 0 && name != "pole" {
					t.Errorf("saturates: %v", s)
				}
				for try := range 3 { // no input breaks the bounds
					in := networks.Normal(rows*width, rng)
					for i := range in {
						in[i] *= math.Pow(1e3, float64(try))
					}
					runChecked(t, m, [][]float64{in})
				}
			})
		}
	}
}

// The constant around a padded value is itself in products of limbs.
func TestFinePadding(t *testing.T) {
	const rows, width = 4, 16
	rng := rand.New(rand.NewPCG(3, 4))
	n := networks.New([]int{rows, width}, []int{rows, width + 2})
	w := n.Filled([]int{width, width}, func(int) float64 { return rng.NormFloat64() / 4 })
	x := n.Pad(n.MatMul(n.In[0], w), []int{0, 1}, []int{0, 1}, 1.5)
	g := n.WithOutput(t, n.Mul(x, n.Apply(graph.Tanh, n.In[1])))
	formats := Formats{"in0": {Bits: 22}, "in1": {Bits: 22}}
	for _, node := range g.Nodes {
		formats[node.Output] = Format{Bits: 22, Weights: 15}
	}
	_, _, got, want := run(t, g, [][]float64{networks.Normal(rows*width, rng), networks.Normal(rows*(width+2), rng)}, Options{Formats: formats})
	if a := Compare(got[0], want[0]); a.Relative > 1e-4 {
		t.Errorf("error %.6f %% of the range", 100*a.Relative)
	}
}

// What is a power of two times another value has the same integers on another scale, also in limbs.
func TestFinePowersOfTwo(t *testing.T) {
	const width = 16
	for _, c := range []float64{0.25, 0.5, 4} {
		rng := rand.New(rand.NewPCG(5, 6))
		n := networks.New([]int{width, width}, []int{width, width})
		w := n.Filled([]int{width, width}, func(int) float64 { return rng.NormFloat64() / 4 })
		x, y := n.Relu(n.MatMul(n.In[0], w)), n.Apply(graph.Tanh, n.In[1])
		z := n.Mul(x, n.Number(c))
		g := n.WithOutput(t, n.Concat(0, n.Mul(y, z), n.MatMul(y, z), n.Apply(graph.Sin, x)))
		formats := Formats{"in0": {Bits: 20}, "in1": {Bits: 20}}
		for _, node := range g.Nodes {
			formats[node.Output] = Format{Bits: 20, Weights: 15}
		}
		in := [][]float64{networks.Normal(width*width, rng), networks.Normal(width*width, rng)}
		_, _, got, want := run(t, g, in, Options{Formats: formats})
		if a := Compare(got[0], want[0]); a.Relative > 1e-4 {
			t.Errorf("times %g: error %.6f %% of the range", c, 100*a.Relative)
		}
	}
}

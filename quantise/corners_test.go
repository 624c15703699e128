package quantise

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/internal/networks"
)

// Things that models have by accident.
func TestCorners(t *testing.T) {
	gemm := graph.Gemm{Alpha: 1, Beta: 1}
	for name, build := range map[string]func(n networks.Network, x graph.Value) graph.Value{
		"Clip with its ends turned": func(n networks.Network, x graph.Value) graph.Value { return n.Clip(x, 2, -0.5) },
		"… and something after it": func(n networks.Network, x graph.Value) graph.Value {
			return n.Apply(graph.Sigmoid, n.Add(n.Clip(n.Mul(x, n.Number(3)), 2, -0.5), x))
		},
		"Clip to one number": func(n networks.Network, x graph.Value) graph.Value { return n.Clip(x, 0.25, 0.25) },
		"Gemm of constants": func(n networks.Network, x graph.Value) graph.Value {
			a := n.Filled([]int{6, 3}, func(i int) float64 { return float64(i) / 7 })
			b := n.Filled([]int{3, 5}, func(i int) float64 { return float64(i%4) - 1 })
			return n.Gemm(graph.Gemm{Alpha: 0.5, Beta: 2}, a, b, x)
		},
		"Gemm of constants, its last broadcast": func(n networks.Network, x graph.Value) graph.Value {
			a := n.Filled([]int{6, 3}, func(i int) float64 { return float64(i) / 7 })
			b := n.Filled([]int{5, 3}, func(i int) float64 { return float64(i%4) - 1 })
			return n.Gemm(graph.Gemm{Alpha: 1, Beta: 1, TransB: true}, a, b, n.Reduce(graph.Sum, x, []int{0}, false))
		},
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			n := networks.New([]int{6, 5})
			g := n.WithOutput(t, build(n, n.In[0]))
			x := make([]float64, 30)
			for i := range x {
				x[i] = rng.NormFloat64()
			}
			_, _, got, want := run(t, g, [][]float64{x}, Options{})
			if a := Compare(got[0], want[0]); a.Relative > 0.001 {
				t.Errorf("error %.3f %% of the range", 100*a.Relative)
			}
		})
	}
	for _, tiny := range []float64{1e-12, 1e-20, 1e-30, 1e-38} {
		for name, build := range map[string]func(n networks.Network, x graph.Value) graph.Value{
			"MatMul": func(n networks.Network, x graph.Value) graph.Value {
				return n.Add(n.MatMul(x, n.Filled([]int{5, 5}, func(i int) float64 { return tiny * float64(i-12) })), x)
			},
			"Gemm": func(n networks.Network, x graph.Value) graph.Value {
				w := n.Filled([]int{5, 5}, func(i int) float64 { return tiny * float64(i-12) })
				return n.Apply(graph.Relu, n.Gemm(gemm, x, w, n.Filled([]int{5}, func(i int) float64 { return float64(i - 2) })))
			},
			"Gemm and a function": func(n networks.Network, x graph.Value) graph.Value {
				w := n.Filled([]int{5, 5}, func(i int) float64 { return tiny * float64(i-12) })
				return n.Apply(graph.Sigmoid, n.Gemm(gemm, x, w, n.Filled([]int{5}, func(i int) float64 { return float64(i - 2) })))
			},
			"Mul": func(n networks.Network, x graph.Value) graph.Value {
				return n.Add(n.Mul(x, n.Filled([]int{5}, func(i int) float64 { return tiny * float64(i-2) })), x)
			},
			"by a number": func(n networks.Network, x graph.Value) graph.Value { return n.Add(n.Mul(x, n.Number(tiny)), x) },
		} {
			t.Run(fmt.Sprintf("%s by %g", name, tiny), func(t *testing.T) {
				n := networks.New([]int{6, 5})
				g := n.WithOutput(t, build(n, n.In[0]))
				x := make([]float64, 30)
				for i := range x {
					x[i] = math.Sin(float64(i))
				}
				_, _, got, want := run(t, g, [][]float64{x}, Options{})
				if a := Compare(got[0], want[0]); a.Relative > 0.001 {
					t.Errorf("error %.3f %% of the range", 100*a.Relative)
				}
			})
		}
	}
}

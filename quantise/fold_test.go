package quantise

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/quantise/internal/networks"
)

// The scale and bias of a norm that products alone read go into the products' weights,
// whichever way these lie, and the norm is rounded once.
func TestFoldedNorm(t *testing.T) {
	const rows, width, out = 6, 48, 20
	for name, op := range normsOf {
		op.Axes = []int{1}
		for _, c := range []struct {
			name  string
			added bool
			read  func(n networks.Network, x graph.Value, rng *rand.Rand) graph.Value
			folds bool
		}{
			{"MatMul", true, func(n networks.Network, x graph.Value, rng *rand.Rand) graph.Value {
				return n.MatMul(x, n.Filled([]int{width, out}, func(int) float64 { return rng.NormFloat64() }))
			}, true},
			{"two products", false, func(n networks.Network, x graph.Value, rng *rand.Rand) graph.Value {
				return n.Mul(n.Dense(x, out, rng), n.Dense(x, out, rng))
			}, true},
			{"Gemm with transposed weights and a bias", true, func(n networks.Network, x graph.Value, rng *rand.Rand) graph.Value {
				w := n.Filled([]int{out, width}, func(int) float64 { return rng.NormFloat64() })
				return n.Gemm(graph.Gemm{TransB: true, Alpha: 1, Beta: 1}, x, w, n.Filled([]int{rows, 1}, func(int) float64 { return rng.NormFloat64() }))
			}, true},
			{"Gemm with factors", true, func(n networks.Network, x graph.Value, rng *rand.Rand) graph.Value {
				w := n.Filled([]int{width, out}, func(int) float64 { return rng.NormFloat64() })
				return n.Gemm(graph.Gemm{Alpha: 0.3, Beta: 2}, x, w, n.Filled([]int{out}, func(int) float64 { return rng.NormFloat64() }))
			}, true},
			{"a product and a sum", true, func(n networks.Network, x graph.Value, rng *rand.Rand) graph.Value {
				return n.Add(x, n.Dense(x, width, rng))
			}, false},
			{"Gemm of the transposed", true, func(n networks.Network, x graph.Value, rng *rand.Rand) graph.Value {
				return n.Gemm(graph.Gemm{TransA: true, Alpha: 1}, x, n.Filled([]int{rows, out}, func(int) float64 { return rng.NormFloat64() }))
			}, false},
		} {
			t.Run(name+", "+c.name, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(1, 2))
				n := networks.New([]int{rows, width})
				x := n.Mul(n.Norm(op, n.In[0]), n.Filled([]int{width}, func(int) float64 { return math.Exp(rng.NormFloat64()) }))
				if c.added {
					x = n.Add(x, n.Filled([]int{width}, func(int) float64 { return rng.NormFloat64() }))
				}
				g := n.WithOutput(t, c.read(n, x, rng))
				in := make([]float64, rows*width)
				for i := range in {
					in[i] = rng.NormFloat64() * math.Exp2(float64(i/width))
				}
				m, w, got, want := run(t, g, [][]float64{in}, Options{})
				a := Compare(got[0], want[0])
				t.Logf("error %.4f %% of the range", 100*a.Relative)
				if a.Relative > 0.002 {
					t.Errorf("error %.4f %% of the range", 100*a.Relative)
				}
				if s := m.Saturation(w); len(s) != 0 {
					t.Errorf("saturates: %v", s)
				}
				last := 1
				if c.added {
					last = 2
				}
				if _, held := m.Held[g.Nodes[last].Output]; held == c.folds {
					t.Errorf("the scaled norm is a tensor: %v", held)
				}
				// No input breaks the bounds.
				for try := range 4 {
					for i := range in {
						in[i] = math.Copysign(1e9, rng.NormFloat64())
						if try%2 == 1 && i%width != try {
							in[i] *= 1e-12
						}
					}
					ints, _, err := m.QuantiseInput([][]float64{in})
					if err != nil {
						t.Fatal(err)
					}
					if w, err = forward.Run(context.Background(), m.Graph, m.Weights, ints); err != nil {
						t.Fatal(err)
					}
					checkWitness(t, m, w)
				}
			})
		}
	}
}

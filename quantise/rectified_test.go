package quantise

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/internal/networks"
)

// A layer whose accumulators could be thousands of times what they are, as one on the
// spectrum of a sound: what its weights multiply is small beside other entries. With a
// format, the result keeps its bits.
func TestReluFarBelowItsBound(t *testing.T) {
	for _, bits := range []int{15, 18} {
		t.Run(fmt.Sprint(bits), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(5, 6))
			n := networks.New([]int{1, 64})
			w := n.Filled([]int{64, 64}, func(i int) float64 {
				if i < 64*32 {
					return 0
				}
				return rng.NormFloat64()
			})
			g := n.WithOutput(t, n.Dense(n.Relu(n.MatMul(n.In[0], w)), 8, rng))
			f := Formats{g.Inputs[0].Name: {Bits: 24}}
			for _, node := range g.Nodes {
				f[node.Output] = Format{Bits: bits}
				if _, ok := node.Op.(graph.MatMul); ok {
					f[node.Output] = Format{Bits: bits, Weights: 13}
				}
			}
			in := make([]float64, 64)
			for i := range in {
				in[i] = rng.NormFloat64()
				if i >= 32 {
					in[i] /= 1 << 10
				}
			}
			m, w2, got, want := run(t, g, [][]float64{in}, Options{Formats: f})
			a := Compare(got[0], want[0])
			t.Logf("error %.4f %% of the range", 100*a.Relative)
			if a.Relative > Target {
				t.Errorf("error %g of the range %g", a.MaxError, a.Range)
			}
			if s := m.Saturation(w2); len(s) > 0 {
				t.Errorf("the calibration input saturates: %v", s)
			}
		})
	}
}

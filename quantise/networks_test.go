package quantise

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/internal/networks"
)

// accurate quantises the network with random inputs and checks the error.
func accurate(t *testing.T, n networks.Network, output graph.Value, rng *rand.Rand) *Model {
	t.Helper()
	g := n.WithOutput(t, output)
	x := make([]float64, graph.Size(g.Inputs[0].Shape))
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	m, w, got, want := run(t, g, [][]float64{x}, Options{})
	a := Compare(got[0], want[0])
	t.Logf("error %.4f %% of the range, cosine %.7f", 100*a.Relative, a.Cosine)
	if a.Relative > 0.01 || a.Cosine < 0.999 {
		t.Errorf("error %g of the range %g, cosine %g", a.MaxError, a.Range, a.Cosine)
	}
	if s := m.Saturation(w); len(s) != 0 {
		t.Errorf("the calibration input saturates: %v", s)
	}
	return m
}

func TestTransformer(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	n := networks.New([]int{1, 12, 32})
	x := n.In[0]
	add := func(y graph.Value) { x = n.Add(x, y) }
	for range 3 {
		add(n.Attention(n.Normed(x, rng), 4, rng))
		h := n.Dense(n.Normed(x, rng), 128, rng)
		add(n.Dense(n.Apply(graph.Gelu, h), 32, rng))
	}
	accurate(t, n, n.Normed(x, rng), rng)
}

func TestResidualCNN(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	n := networks.New([]int{1, 3, 16, 16})
	x := n.Relu(convOf(n, n.In[0], 16, 3, 1, rng))
	for stage := range 2 {
		for range 2 {
			y := convOf(n, n.Relu(convOf(n, x, 16<<stage, 3, 1, rng)), 16<<stage, 3, 1, rng)
			x = n.Relu(n.Add(x, y))
		}
		x = n.Relu(convOf(n, x, 32<<stage, 3, 2, rng))
	}
	x = n.Reduce(graph.Mean, x, []int{2, 3}, false)
	accurate(t, n, n.Dense(x, 10, rng), rng)
}

// A layer and the activation after it are one look-up and its range check.
func TestFusion(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	n := networks.New([]int{1, 3, 8, 8})
	x := n.Relu(convOf(n, n.In[0], 4, 3, 1, rng))
	x = n.Apply(graph.Sigmoid, n.Relu(convOf(n, x, 4, 3, 1, rng)))
	m := accurate(t, n, x, rng)
	// Two for the first Relu; for the second one, clamp, range and one table
	// for Sigmoid after Relu.
	if len(m.Graph.Steps) != 5 {
		t.Errorf("%d steps: %+v", len(m.Graph.Steps), m.Graph.Steps)
	}
}

// A product that is tiny beside its bias leaves it what there is of bits: values of
// random networks shrink from layer to layer, and biases do not.
func TestTinyBesideBias(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, tiny := range []float64{1e-3, 1e-6, 1e-9, 1e-12} {
		n := networks.New([]int{1, 64, 4, 4})
		x := n.Relu(n.Mul(n.In[0], n.Number(tiny)))
		accurate(t, n, n.Add(convOf(n, x, 8, 1, 1, rng), convOf(n, n.In[0], 8, 1, 1, rng)), rng)
	}
}

// convOf is a square convolution with padding that keeps the size at stride 1.
func convOf(n networks.Network, x graph.Value, channels, k, stride int, rng *rand.Rand) graph.Value {
	in := n.Shape(x)
	scale := math.Sqrt(2 / float64(in[1]*k*k))
	w := n.Filled([]int{channels, in[1], k, k}, func(int) float64 { return scale * rng.NormFloat64() })
	b := n.Filled([]int{channels}, func(int) float64 { return 0.1 * rng.NormFloat64() })
	two := func(v int) []int { return []int{v, v} }
	window := graph.Window{Kernel: two(k), Strides: two(stride), Dilations: two(1), Begin: two(k / 2), End: two(k / 2)}
	return n.Conv(graph.Conv{Window: window, Group: 1}, x, w, b)
}

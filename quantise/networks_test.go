package quantise

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
)

// dense is x·W + b on the last axis, with random weights.
func (n network) dense(x graph.Value, width int, rng *rand.Rand) graph.Value {
	shape := n.Shape(x)
	k := shape[len(shape)-1]
	w := n.constant([]int{k, width}, func(int) float64 { return rng.NormFloat64() / math.Sqrt(float64(k)) })
	b := n.constant([]int{width}, func(int) float64 { return 0.1 * rng.NormFloat64() })
	return n.Add(n.MatMul(x, w), b)
}

// layerNorm is LayerNormalization over the last of three axes.
func (n network) layerNorm(x graph.Value, rng *rand.Rand) graph.Value {
	row := n.Shape(x)[2:]
	scale := n.constant(row, func(int) float64 { return 1 + 0.2*rng.NormFloat64() })
	return n.LayerNorm(x, 2, 1e-5, scale, n.constant(row, func(int) float64 { return 0.1 * rng.NormFloat64() }))
}

// attention is causal self-attention with the given number of heads.
func (n network) attention(x graph.Value, heads int, rng *rand.Rand) graph.Value {
	rows, width := n.Shape(x)[1], n.Shape(x)[2]
	d := width / heads
	part := func(perm ...int) graph.Value {
		return n.Transpose(n.Reshape(n.dense(x, width, rng), []int{1, rows, heads, d}), perm)
	}
	q := part(0, 2, 1, 3)
	k := part(0, 2, 3, 1)
	v := part(0, 2, 1, 3)
	a := n.Mul(n.MatMul(q, k), n.Number(1/math.Sqrt(float64(d))))
	a = n.Add(a, n.constant([]int{rows, rows}, func(i int) float64 {
		if i%rows > i/rows {
			return -1e9
		}
		return 0
	}))
	a = n.Transpose(n.MatMul(n.Softmax(a, 3), v), []int{0, 2, 1, 3})
	return n.dense(n.Reshape(a, []int{1, rows, width}), width, rng)
}

// conv is a square convolution with padding that keeps the size at stride 1.
func (n network) conv(x graph.Value, channels, k, stride int, rng *rand.Rand) graph.Value {
	in := n.Shape(x)
	scale := math.Sqrt(2 / float64(in[1]*k*k))
	w := n.constant([]int{channels, in[1], k, k}, func(int) float64 { return scale * rng.NormFloat64() })
	b := n.constant([]int{channels}, func(int) float64 { return 0.1 * rng.NormFloat64() })
	two := func(v int) []int { return []int{v, v} }
	window := graph.Window{Kernel: two(k), Strides: two(stride), Dilations: two(1), Begin: two(k / 2), End: two(k / 2)}
	return n.Conv(graph.Conv{Window: window, Group: 1}, x, w, b)
}

func (n network) relu(x graph.Value) graph.Value { return n.Apply(graph.Relu, x) }

// accurate quantises the network with random inputs and checks the error.
func (n network) accurate(t *testing.T, output graph.Value, rng *rand.Rand) *Model {
	t.Helper()
	g := n.graph(t, output)
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
	n := newNetwork([]int{1, 12, 32})
	x := n.in[0]
	add := func(y graph.Value) { x = n.Add(x, y) }
	for range 3 {
		add(n.attention(n.layerNorm(x, rng), 4, rng))
		h := n.dense(n.layerNorm(x, rng), 128, rng)
		add(n.dense(n.Apply(graph.Gelu, h), 32, rng))
	}
	n.accurate(t, n.layerNorm(x, rng), rng)
}

func TestResidualCNN(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	n := newNetwork([]int{1, 3, 16, 16})
	x := n.relu(n.conv(n.in[0], 16, 3, 1, rng))
	for stage := range 2 {
		for range 2 {
			y := n.conv(n.relu(n.conv(x, 16<<stage, 3, 1, rng)), 16<<stage, 3, 1, rng)
			x = n.relu(n.Add(x, y))
		}
		x = n.relu(n.conv(x, 32<<stage, 3, 2, rng))
	}
	x = n.Reduce(graph.Mean, x, []int{2, 3}, false)
	n.accurate(t, n.dense(x, 10, rng), rng)
}

// A layer and the activation after it are one look-up and its range check.
func TestFusion(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	n := newNetwork([]int{1, 3, 8, 8})
	x := n.relu(n.conv(n.in[0], 4, 3, 1, rng))
	x = n.Apply(graph.Sigmoid, n.relu(n.conv(x, 4, 3, 1, rng)))
	m := n.accurate(t, x, rng)
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
		n := newNetwork([]int{1, 64, 4, 4})
		x := n.relu(n.Mul(n.in[0], n.Number(tiny)))
		n.accurate(t, n.Add(n.conv(x, 8, 1, 1, rng), n.conv(n.in[0], 8, 1, 1, rng)), rng)
	}
}

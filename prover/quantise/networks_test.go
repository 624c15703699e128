package quantise

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/onnx"
)

// ints makes a node's integer attributes.
func ints(m map[string][]int64) onnx.Node { return onnx.Node{Ints: m} }

// dense is x·W + b on the last axis, with random weights.
func (n network) dense(x string, width int, rng *rand.Rand) string {
	shape := append([]int(nil), n.Shapes[x]...)
	k := shape[len(shape)-1]
	shape[len(shape)-1] = width
	w := n.constant([]int{k, width}, func(int) float64 { return rng.NormFloat64() / math.Sqrt(float64(k)) })
	b := n.constant([]int{width}, func(int) float64 { return 0.1 * rng.NormFloat64() })
	return n.node("Add", shape, onnx.Node{}, n.node("MatMul", shape, onnx.Node{}, x, w), b)
}

// layerNorm is LayerNormalization over the last of three axes, as exporters
// write it out.
func (n network) layerNorm(x string, rng *rand.Rand) string {
	shape := n.Shapes[x]
	row := []int{shape[0], shape[1], 1}
	scalar := func(v float64) string { return n.constant(nil, func(int) float64 { return v }) }
	mean := func(x string) string {
		return n.node("ReduceMean", row, ints(map[string][]int64{"axes": {2}, "keepdims": {1}}), x)
	}
	centred := n.node("Sub", shape, onnx.Node{}, x, mean(x))
	variance := mean(n.node("Mul", shape, onnx.Node{}, centred, centred))
	sigma := n.node("Sqrt", row, onnx.Node{}, n.node("Add", row, onnx.Node{}, variance, scalar(1e-5)))
	y := n.node("Div", shape, onnx.Node{}, centred, sigma)
	y = n.node("Mul", shape, onnx.Node{}, y, n.constant(shape[2:], func(int) float64 { return 1 + 0.2*rng.NormFloat64() }))
	return n.node("Add", shape, onnx.Node{}, y, n.constant(shape[2:], func(int) float64 { return 0.1 * rng.NormFloat64() }))
}

// attention is causal self-attention with the given number of heads.
func (n network) attention(x string, heads int, rng *rand.Rand) string {
	rows, width := n.Shapes[x][1], n.Shapes[x][2]
	d := width / heads
	part := func(perm []int64, shape ...int) string {
		y := n.node("Reshape", []int{1, rows, heads, d}, onnx.Node{}, n.dense(x, width, rng))
		return n.node("Transpose", shape, ints(map[string][]int64{"perm": perm}), y)
	}
	q := part([]int64{0, 2, 1, 3}, 1, heads, rows, d)
	k := part([]int64{0, 2, 3, 1}, 1, heads, d, rows)
	v := part([]int64{0, 2, 1, 3}, 1, heads, rows, d)
	square := []int{1, heads, rows, rows}
	a := n.node("MatMul", square, onnx.Node{}, q, k)
	a = n.node("Mul", square, onnx.Node{}, a, n.constant(nil, func(int) float64 { return 1 / math.Sqrt(float64(d)) }))
	a = n.node("Add", square, onnx.Node{}, a, n.constant([]int{rows, rows}, func(i int) float64 {
		if i%rows > i/rows {
			return -1e9
		}
		return 0
	}))
	a = n.node("Softmax", square, ints(map[string][]int64{"axis": {3}}), a)
	a = n.node("MatMul", []int{1, heads, rows, d}, onnx.Node{}, a, v)
	a = n.node("Transpose", []int{1, rows, heads, d}, ints(map[string][]int64{"perm": {0, 2, 1, 3}}), a)
	return n.dense(n.node("Reshape", []int{1, rows, width}, onnx.Node{}, a), width, rng)
}

// conv is a square convolution with padding that keeps the size at stride 1.
func (n network) conv(x string, channels, k, stride int, rng *rand.Rand) string {
	in := n.Shapes[x]
	scale := math.Sqrt(2 / float64(in[1]*k*k))
	w := n.constant([]int{channels, in[1], k, k}, func(int) float64 { return scale * rng.NormFloat64() })
	b := n.constant([]int{channels}, func(int) float64 { return 0.1 * rng.NormFloat64() })
	p, s := int64(k/2), int64(stride)
	return n.node("Conv", []int{in[0], channels, (in[2] + stride - 1) / stride, (in[3] + stride - 1) / stride}, ints(map[string][]int64{
		"kernel": {int64(k), int64(k)}, "strides": {s, s}, "dilations": {1, 1}, "pads": {p, p, p, p}, "group": {1},
	}), x, w, b)
}

func (n network) relu(x string) string { return n.node("Relu", n.Shapes[x], onnx.Node{}, x) }

// accurate quantises the network with random inputs and checks the error.
func (n network) accurate(t *testing.T, output string, rng *rand.Rand) *Model {
	t.Helper()
	n.Outputs = []string{output}
	x := make([]float64, 1)
	for _, d := range n.Inputs[0].Shape {
		x = make([]float64, len(x)*d)
	}
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	m, w, got, want := run(t, n.Graph, [][]float64{x}, Options{})
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
	x := "in0"
	add := func(y string) { x = n.node("Add", n.Shapes[x], onnx.Node{}, x, y) }
	for range 3 {
		add(n.attention(n.layerNorm(x, rng), 4, rng))
		h := n.dense(n.layerNorm(x, rng), 128, rng)
		add(n.dense(n.node("Gelu", n.Shapes[h], onnx.Node{}, h), 32, rng))
	}
	n.accurate(t, n.layerNorm(x, rng), rng)
}

func TestResidualCNN(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	n := newNetwork([]int{1, 3, 16, 16})
	x := n.relu(n.conv("in0", 16, 3, 1, rng))
	for stage := range 2 {
		for range 2 {
			y := n.conv(n.relu(n.conv(x, 16<<stage, 3, 1, rng)), 16<<stage, 3, 1, rng)
			x = n.relu(n.node("Add", n.Shapes[x], onnx.Node{}, x, y))
		}
		x = n.relu(n.conv(x, 32<<stage, 3, 2, rng))
	}
	x = n.node("ReduceMean", []int{1, 64}, ints(map[string][]int64{"axes": {2, 3}, "keepdims": {0}}), x)
	n.accurate(t, n.dense(x, 10, rng), rng)
}

// A layer and the activation after it are one look-up and its range check.
func TestFusion(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	n := newNetwork([]int{1, 3, 8, 8})
	x := n.relu(n.conv("in0", 4, 3, 1, rng))
	x = n.node("Sigmoid", n.Shapes[x], onnx.Node{}, n.relu(n.conv(x, 4, 3, 1, rng)))
	m := n.accurate(t, x, rng)
	// Two for the first Relu; for the second one, clamp, range and one table
	// for Sigmoid after Relu.
	if len(m.Graph.Steps) != 5 {
		t.Errorf("%d steps: %+v", len(m.Graph.Steps), m.Graph.Steps)
	}
}

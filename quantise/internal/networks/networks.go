// Package networks has the float models that tests of the quantiser try: layers, transformers
// and tables, with weights from a seed.
package networks

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Outliers returns n numbers from a normal distribution, every tenth multiplied by large.
func Outliers(n int, large float64, rng *rand.Rand) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
		if i%10 == 3 {
			x[i] *= large
		}
	}
	return x
}

// Dense is x·W + b on the last axis, with random weights.
func (n Network) Dense(x graph.Value, width int, rng *rand.Rand) graph.Value {
	shape := n.Shape(x)
	k := shape[len(shape)-1]
	w := n.Filled([]int{k, width}, func(int) float64 { return rng.NormFloat64() / math.Sqrt(float64(k)) })
	b := n.Filled([]int{width}, func(int) float64 { return 0.1 * rng.NormFloat64() })
	return n.Add(n.MatMul(x, w), b)
}

// Normed is LayerNormalization over the last of three axes.
func (n Network) Normed(x graph.Value, rng *rand.Rand) graph.Value {
	row := n.Shape(x)[2:]
	scale := n.Filled(row, func(int) float64 { return 1 + 0.2*rng.NormFloat64() })
	return n.LayerNorm(x, 2, 1e-5, scale, n.Filled(row, func(int) float64 { return 0.1 * rng.NormFloat64() }))
}

// Attention is causal self-attention with the given number of heads.
func (n Network) Attention(x graph.Value, heads int, rng *rand.Rand) graph.Value {
	rows, width := n.Shape(x)[1], n.Shape(x)[2]
	d := width / heads
	part := func(perm ...int) graph.Value {
		return n.Transpose(n.Reshape(n.Dense(x, width, rng), []int{1, rows, heads, d}), perm)
	}
	q := part(0, 2, 1, 3)
	k := part(0, 2, 3, 1)
	v := part(0, 2, 1, 3)
	a := n.Mul(n.MatMul(q, k), n.Number(1/math.Sqrt(float64(d))))
	a = n.Add(a, n.Filled([]int{rows, rows}, func(i int) float64 {
		if i%rows > i/rows {
			return -1e9
		}
		return 0
	}))
	a = n.Transpose(n.MatMul(n.Softmax(a, 3), v), []int{0, 2, 1, 3})
	return n.Dense(n.Reshape(a, []int{1, rows, width}), width, rng)
}

// Relu is max(x, 0).
func (n Network) Relu(x graph.Value) graph.Value { return n.Apply(graph.Relu, x) }

// Network builds float graphs with random weights.
type Network struct {
	*graph.Builder
	In []graph.Value
}

// New returns a network with inputs in0, in1 and so on of these shapes.
func New(inputs ...[]int) Network {
	n := Network{Builder: graph.NewBuilder("test")}
	for i, s := range inputs {
		n.In = append(n.In, n.Input(fmt.Sprintf("in%d", i), graph.Float, s))
	}
	return n
}

// Filled is a constant whose entry i, row-major, is f(i).
func (n Network) Filled(shape []int, f func(i int) float64) graph.Value {
	t := &graph.Tensor{Shape: shape, DType: graph.Float, F32: make([]float32, model.Size(shape))}
	for i := range t.F32 {
		t.F32[i] = float32(f(i))
	}
	return n.Constant("", t)
}

// WithOutput returns the graph with the one output y.
func (n Network) WithOutput(t interface{ Fatal(...any) }, y graph.Value) *graph.Graph {
	n.Output("y", y)
	g, err := n.Graph()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Transformer is a transformer with the given number of layers, on 12 rows of 32 numbers: causal
// attention with four heads, and Gelu between dense layers.
func Transformer(t *testing.T, layers int, rng *rand.Rand) *graph.Graph {
	n := New([]int{1, 12, 32})
	x := n.In[0]
	add := func(y graph.Value) { x = n.Add(x, y) }
	for range layers {
		add(n.Attention(n.Normed(x, rng), 4, rng))
		h := n.Dense(n.Normed(x, rng), 128, rng)
		add(n.Dense(n.Apply(graph.Gelu, h), 32, rng))
	}
	return n.WithOutput(t, n.Normed(x, rng))
}

// Normal returns n numbers from a normal distribution.
func Normal(n int, rng *rand.Rand) []float64 { return Outliers(n, 1, rng) }

// Tabular is a network for tables of five features of very different sizes, whose first operators
// subtract means and divide by deviations.
func Tabular(t *testing.T, rng *rand.Rand) *graph.Graph {
	n := New([]int{1, 5})
	mean := []float64{38, 31000, 0.05, 1.9, 900}
	deviation := []float64{12, 18000, 0.011, 0.8, 700}
	x := n.Sub(n.In[0], n.Filled([]int{5}, func(i int) float64 { return mean[i] }))
	x = n.Div(x, n.Filled([]int{5}, func(i int) float64 { return deviation[i] }))
	return n.WithOutput(t, n.Dense(n.Relu(n.Dense(x, 16, rng)), 3, rng))
}

// RandomInputs returns inputs for a graph: numbers in [0.25, 1.25) for floats, zeros and ones for other types, and
// ones for masks.
func RandomInputs(rng *rand.Rand, fg *graph.Graph) [][]float64 {
	in := make([][]float64, len(fg.Inputs))
	for i, v := range fg.Inputs {
		in[i] = make([]float64, graph.Size(v.Shape))
		for j := range in[i] {
			in[i][j] = 0.25 + rng.Float64()
			if !v.DType.IsFloat() {
				in[i][j] = float64(rng.IntN(2))
			}
			if fg.Masks(v.Name) {
				in[i][j] = 1
			}
		}
	}
	return in
}

// OpenTable is a network for tables of n rows of eight numbers. It leaves the number of rows open, as
// the symbol "rows".
func OpenTable(t *testing.T, n int) *graph.Graph {
	rng := rand.New(rand.NewPCG(30, 31))
	b := Network{Builder: graph.NewBuilder("table")}
	x := b.Input("x", graph.Float, []int{n, 8}, "rows", "")
	for range 2 {
		x = b.Apply(graph.Sigmoid, b.Dense(x, 24, rng))
	}
	g := b.WithOutput(t, b.Dense(x, 3, rng))
	g.Rebind = func(sizes map[string]int) (*graph.Graph, error) { return OpenTable(t, sizes["rows"]), nil }
	return g
}

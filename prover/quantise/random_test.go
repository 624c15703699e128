package quantise

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/onnx"
	"github.com/prove-model/prove-model/prover/forward"
	"github.com/prove-model/prove-model/prover/model"
	"pgregory.net/rapid"
)

// network builds float graphs in the reader's normal form.
type network struct{ *onnx.Graph }

func newNetwork(inputs ...[]int) network {
	g := &onnx.Graph{Name: "test", Consts: map[string]*onnx.Tensor{}, Shapes: map[string][]int{}, DTypes: map[string]onnx.DType{}}
	for i, s := range inputs {
		name := fmt.Sprintf("in%d", i)
		g.Inputs = append(g.Inputs, onnx.Value{Name: name, Shape: s, DType: onnx.Float})
		g.Shapes[name] = s
	}
	return network{g}
}

func (n network) constant(shape []int, f func(i int) float64) string {
	t := &onnx.Tensor{Shape: shape, DType: onnx.Float, F32: make([]float32, model.Size(shape))}
	for i := range t.F32 {
		t.F32[i] = float32(f(i))
	}
	name := fmt.Sprintf("c%d", len(n.Consts))
	n.Consts[name], n.Shapes[name] = t, shape
	return name
}

// node appends a node and returns its output.
func (n network) node(op string, shape []int, node onnx.Node, inputs ...string) string {
	node.Op, node.Inputs = op, inputs
	node.Name = fmt.Sprintf("%s%d", op, len(n.Nodes))
	node.Outputs = []string{node.Name}
	n.Nodes = append(n.Nodes, &node)
	n.Shapes[node.Name] = shape
	return node.Name
}

// drawNetwork draws a chain of layers with residual connections; the scale of
// a layer's weights is e^±spread times the usual one.
func drawNetwork(t *rapid.T, rng *rand.Rand, spread float64) network {
	rows, width := rapid.IntRange(1, 4).Draw(t, "rows"), rapid.IntRange(1, 40).Draw(t, "width")
	shape := []int{rows, width}
	n := newNetwork(shape)
	x := "in0"
	earlier := []string{x} // of the same shape
	for range rapid.IntRange(1, 6).Draw(t, "layers") {
		scale := math.Exp(rapid.Float64Range(-spread, spread).Draw(t, "scale"))
		random := func(int) float64 { return scale * rng.NormFloat64() }
		switch rapid.IntRange(0, 8).Draw(t, "layer") {
		case 0, 1:
			w := rapid.IntRange(1, 40).Draw(t, "width")
			g := onnx.Node{Ints: map[string][]int64{"transA": {0}, "transB": {0}}, Floats: map[string]float64{"alpha": 1, "beta": 1}}
			k, c := n.Shapes[x][1], n.constant([]int{w}, random)
			shape = []int{rows, w}
			x = n.node("Gemm", shape, g, x, n.constant([]int{k, w}, func(i int) float64 { return random(i) / math.Sqrt(float64(k)) }), c)
			earlier = nil
		case 2:
			x = n.node("Relu", shape, onnx.Node{}, x)
		case 3:
			x = n.node("Tanh", shape, onnx.Node{}, x)
		case 4:
			x = n.node("Mul", shape, onnx.Node{}, x, n.constant([]int{shape[1]}, random))
		case 5:
			x = n.node("Add", shape, onnx.Node{}, x, n.constant([]int{1, shape[1]}, random))
		case 6:
			if len(earlier) > 0 {
				op := rapid.SampledFrom([]string{"Add", "Sub", "Mul"}).Draw(t, "op")
				x = n.node(op, shape, onnx.Node{}, x, rapid.SampledFrom(earlier).Draw(t, "with"))
			}
		case 7:
			x = n.node("Softmax", shape, onnx.Node{Ints: map[string][]int64{"axis": {1}}}, x)
		case 8:
			m := n.node("ReduceMean", []int{rows, 1}, onnx.Node{Ints: map[string][]int64{"axes": {1}, "keepdims": {1}}}, x)
			x = n.node("Sub", shape, onnx.Node{}, x, m)
		}
		earlier = append(earlier, x)
	}
	if x == "in0" {
		x = n.node("Relu", shape, onnx.Node{}, x)
	}
	n.Outputs = []string{x}
	n.prune()
	return n
}

// prune drops the nodes that the output does not need, as the reader does.
func (n network) prune() {
	need := map[string]bool{n.Outputs[0]: true}
	var kept []*onnx.Node
	for i := len(n.Nodes) - 1; i >= 0; i-- {
		if need[n.Nodes[i].Output()] {
			kept = append([]*onnx.Node{n.Nodes[i]}, kept...)
			for _, in := range n.Nodes[i].Inputs {
				need[in] = true
			}
		}
	}
	n.Nodes = kept
}

// calibrated quantises a random network with random calibration inputs.
func calibrated(t *rapid.T, spread float64) (m *Model, rng *rand.Rand, calibration, want []float64, widest float64) {
	rng = rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	n := drawNetwork(t, rng, spread)
	calibration = make([]float64, model.Size(n.Inputs[0].Shape))
	for i := range calibration {
		calibration[i] = rng.NormFloat64()
	}
	values, err := n.RunFloat([][]float64{calibration})
	if err != nil {
		t.Fatal(err)
	}
	m, err = Quantise(n.Graph, Ranges(values), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range Ranges(values) {
		widest = math.Max(widest, r.abs())
	}
	return m, rng, calibration, values[n.Outputs[0]], widest
}

// execute runs the model on real inputs.
func execute(t *rapid.T, m *Model, x []float64) *forward.Witness {
	ints, _, err := m.QuantiseInput([][]float64{x})
	if err != nil {
		t.Fatal(err)
	}
	w, err := forward.Run(context.Background(), m.Graph, m.Weights, ints)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// Networks of any shape and scale quantise, and no input, least of all one at
// the ends of the input's range, takes an accumulator out of ±2^30 or a key
// out of its table: forward.Run would say so.
func TestRandomNetworksStayInBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, rng, x, _, _ := calibrated(t, 3)
		for _, draw := range []func() float64{
			func() float64 { return 1e30 },
			func() float64 { return 1e30 * float64(1-2*rng.IntN(2)) },
			func() float64 { return 10 * rng.NormFloat64() },
		} {
			for i := range x {
				x[i] = draw()
			}
			checkWitness(t, m, execute(t, m, x))
		}
	})
}

// Networks with weights of the usual scale keep their accuracy on the input
// that they were calibrated with: 5 % of the output's range, or what is left
// when much larger values cancel.
func TestRandomNetworksAreAccurate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, _, x, want, widest := calibrated(t, 0.5)
		if a := Compare(m.Outputs(execute(t, m, x))[0], want); a.MaxError > 0.05*a.Range+0.002*widest {
			t.Fatalf("error %g of the range %g", a.MaxError, a.Range)
		}
	})
}

package quantise

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/internal/networks"
	"pgregory.net/rapid"
)

// drawNetwork draws a chain of layers with residual connections; the scale of
// a layer's weights is e^±spread times the usual one.
func drawNetwork(t *rapid.T, rng *rand.Rand, spread float64) *graph.Graph {
	rows, width := rapid.IntRange(1, 4).Draw(t, "rows"), rapid.IntRange(1, 40).Draw(t, "width")
	n := networks.New([]int{rows, width})
	x := n.In[0]
	earlier := []graph.Value{x} // of the same shape
	for range rapid.IntRange(1, 6).Draw(t, "layers") {
		scale := math.Exp(rapid.Float64Range(-spread, spread).Draw(t, "scale"))
		random := func(int) float64 { return scale * rng.NormFloat64() }
		k := n.Shape(x)[1]
		switch rapid.IntRange(0, 8).Draw(t, "layer") {
		case 0, 1:
			w := rapid.IntRange(1, 40).Draw(t, "width")
			c := n.Filled([]int{w}, random)
			weights := n.Filled([]int{k, w}, func(i int) float64 { return random(i) / math.Sqrt(float64(k)) })
			x = n.Gemm(graph.Gemm{Alpha: 1, Beta: 1}, x, weights, c)
			earlier = nil
		case 2:
			x = n.Apply(graph.Relu, x)
		case 3:
			x = n.Apply(graph.Tanh, x)
		case 4:
			x = n.Mul(x, n.Filled([]int{k}, random))
		case 5:
			x = n.Add(x, n.Filled([]int{1, k}, random))
		case 6:
			if len(earlier) > 0 {
				op := rapid.SampledFrom([]func(x, y graph.Value) graph.Value{n.Add, n.Sub, n.Mul}).Draw(t, "op")
				x = op(x, rapid.SampledFrom(earlier).Draw(t, "with"))
			}
		case 7:
			x = n.Softmax(x, 1)
		case 8:
			x = n.Sub(x, n.Reduce(graph.Mean, x, []int{1}, true))
		}
		earlier = append(earlier, x)
	}
	if x == n.In[0] {
		x = n.Apply(graph.Relu, x)
	}
	return n.WithOutput(t, x)
}

// calibrated quantises a random network with random calibration inputs.
func calibrated(t *rapid.T, spread float64) (m *Model, rng *rand.Rand, calibration, want []float64, widest float64) {
	rng = rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	g := drawNetwork(t, rng, spread)
	calibration = make([]float64, model.Size(g.Inputs[0].Shape))
	for i := range calibration {
		calibration[i] = rng.NormFloat64()
	}
	values, err := g.RunFloat([][]float64{calibration})
	if err != nil {
		t.Fatal(err)
	}
	m, err = Quantise(g, Ranges(values), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range Ranges(values) {
		widest = math.Max(widest, r.Abs())
	}
	return m, rng, calibration, values["y"], widest
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

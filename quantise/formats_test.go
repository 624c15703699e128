package quantise

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/internal/networks"
)

// relative is the root mean square of the error of the entries that are not
// outliers, in units of theirs.
func relative(got, want []float64, below float64) float64 {
	var e, w float64
	for i := range want {
		if math.Abs(want[i]) < below {
			e += (got[i] - want[i]) * (got[i] - want[i])
			w += want[i] * want[i]
		}
	}
	return math.Sqrt(e / w)
}

// A product whose wide operand takes limbs is as precise as its format says, also
// for rows a hundred times smaller than the largest.
func TestWideProduct(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const k, width = 300, 7
	n := networks.New([]int{2, k}, []int{2, k})
	product := n.Mul(n.In[0], n.In[1])
	weights := n.Filled([]int{k, width}, func(int) float64 { return rng.NormFloat64() })
	bias := n.Filled([]int{width}, func(int) float64 { return rng.NormFloat64() })
	g := n.WithOutput(t, n.Add(n.Gemm(graph.Gemm{Alpha: 1, Beta: 1}, product, weights, bias), n.Number(0.25)))
	x, y := networks.Outliers(2*k, 1, rng), networks.Outliers(2*k, 1, rng)
	for i := range k {
		x[i] *= 8
		y[i] *= 8
	}
	wide := g.Nodes[0].Output
	for _, c := range []struct {
		bits       int
		low, error float64
	}{{0, 0.001, 1}, {18, 0, 0.008}, {20, 0, 0.005}, {24, 0, 0.006}} {
		opts := Options{Formats: Formats{"in0": {Bits: 14}, "in1": {Bits: 14}}}
		if c.bits > 0 {
			opts.Formats[wide] = Format{Bits: c.bits}
		}
		m, w, got, want := run(t, g, [][]float64{x, y}, opts)
		small := relative(got[0][width:], want[0][width:], math.Inf(1))
		t.Logf("%d bits: error of the small row %.5f", c.bits, small)
		if small > c.error || small < c.low {
			t.Errorf("%d bits: error of the small row %g", c.bits, small)
		}
		if s := m.Saturation(w); len(s) != 0 {
			t.Errorf("saturates: %v", s)
		}
	}
}

// Sums of wide format are views of what is added to them.
func TestStream(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const width = 32
	n := networks.New([]int{4, width})
	x := n.Add(n.In[0], n.Filled([]int{width}, func(int) float64 { return rng.NormFloat64() }))
	opts := Options{Formats: Formats{"in0": {Bits: 20}}}
	for range 3 {
		x = n.Add(x, n.Dense(n.Apply(graph.Tanh, n.Dense(x, width, rng)), width, rng))
	}
	g := n.WithOutput(t, x)
	for _, node := range g.Nodes {
		if node.Op == graph.Add {
			opts.Formats[node.Output] = Format{Bits: 22}
		}
	}
	m, _, got, want := run(t, g, [][]float64{networks.Outliers(4*width, 100, rng)}, opts)
	a := Compare(got[0], want[0])
	t.Logf("error %.5f %%", 100*a.Relative)
	if a.Relative > 1e-4 {
		t.Errorf("error %g of the range", a.Relative)
	}
	out := &m.Graph.Tensors[m.Graph.Outputs[0]]
	if out.Kind != model.Virtual {
		t.Errorf("the stream is committed: %+v", out)
	}
}

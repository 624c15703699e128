package quantise

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
	"github.com/prove-model/prove-model/quantise/internal/networks"
)

// Rests that are looked up at once, with the low limb as a part of them, and carries in
// even limbs, give the integers that two look-ups give, in fewer, also of inputs far beyond
// calibration.
func TestRestsAtOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const rows, width = 1 << 10, 48
	n := networks.New([]int{rows, width}, []int{rows, width})
	weights := func() graph.Value {
		return n.Filled([]int{width, width}, func(int) float64 { return rng.NormFloat64() / math.Sqrt(width) })
	}
	product := n.MatMul(n.In[0], weights())
	g := n.WithOutput(t, n.MatMul(n.Mul(product, n.In[1]), weights()))
	formats := Formats{"in0": {Bits: 20}, "in1": {Bits: 15}}
	for _, node := range g.Nodes {
		formats[node.Output] = Format{Bits: 20, Weights: 13}
	}
	in := [][]float64{networks.Normal(rows*width, rng), networks.Normal(rows*width, rng)}
	far := [][]float64{networks.Normal(rows*width, rng), networks.Normal(rows*width, rng)}
	for i := range far[0] {
		far[0][i] *= math.Pow(10, float64(i%7)-2)
	}
	defer func(bits int) { fixed.MostRest = bits }(fixed.MostRest)
	var outputs [2][][]int32
	var count [2]int
	for k, bits := range []int{0, fixed.MostRest} {
		fixed.MostRest = bits
		m, _, got, want := run(t, g, in, Options{Formats: formats})
		if e := Compare(got[0], want[0]).Relative; e > 1e-4 {
			t.Errorf("with rests of up to %d bits the error is %g", bits, e)
		}
		highBits := 0
		for i := range m.Graph.Steps {
			s := &m.Graph.Steps[i]
			if s.Kind != model.StepLookup {
				continue
			}
			count[k] += model.Size(s.Shape)
			if m.Graph.Tables[s.Table].Drop > 0 {
				highBits++
			}
		}
		if (highBits > 0) != (bits > 0) {
			t.Errorf("with rests of up to %d bits %d look-ups are in high-bits tables", bits, highBits)
		}
		for _, x := range [][][]float64{in, far} {
			outputs[k] = append(outputs[k], runChecked(t, m, x).Tensor(m.Graph.Outputs[0]))
		}
	}
	for i := range outputs[0] {
		if !slices.Equal(outputs[0][i], outputs[1][i]) {
			t.Errorf("the outputs of run %d differ", i)
		}
	}
	if 10*count[1] > 9*count[0] {
		t.Errorf("%d look-ups in place of %d", count[1], count[0])
	}
	t.Logf("%d look-ups in place of %d", count[1], count[0])
}

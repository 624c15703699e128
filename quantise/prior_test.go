package quantise

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/internal/networks"
)

// A product of wide values with large weights for one channel, added to a stream of
// small values: all channels keep the precision of the stream, although the product's
// own scale is coarser.
func TestCoarseProductInStream(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	const rows, k, width = 4, 256, 16
	n := networks.New([]int{rows, k}, []int{rows, k}, []int{rows, width})
	w := n.Filled([]int{k, width}, func(i int) float64 {
		if i%width == 5 {
			return rng.NormFloat64()
		}
		return 0.05 * rng.NormFloat64()
	})
	product := n.Mul(n.In[0], n.In[1])
	sum := n.Add(n.In[2], n.MatMul(product, w))
	g := n.WithOutput(t, n.Add(sum, n.In[2]))
	x, y := networks.Normal(rows*k, rng), networks.Normal(rows*k, rng)
	x[7], y[7] = 60, 60 // in the first row alone
	formats := Formats{"in0": {Bits: 15}, "in1": {Bits: 15}, "in2": {Bits: 15}, g.Nodes[0].Output: {Bits: 20}}
	for _, node := range g.Nodes {
		if node.Op == graph.Add {
			formats[node.Output] = Format{Bits: 26}
		}
	}
	m, _, got, want := run(t, g, [][]float64{x, y, networks.Normal(rows*width, rng)}, Options{Formats: formats})
	scale := m.Graph.Tensors[m.Graph.Outputs[0]].Frac
	for _, tensor := range m.Graph.Tensors {
		if name := g.Nodes[1].Output; tensor.Name == name && tensor.Frac >= scale || tensor.Name == name+", carry" && tensor.Frac != scale {
			t.Errorf("%s is on a scale of %d bits, the stream of %d", tensor.Name, tensor.Frac, scale)
		}
	}
	var off, size float64
	for i := width; i < rows*width; i++ {
		if i%width != 5 {
			off, size = off+(got[0][i]-want[0][i])*(got[0][i]-want[0][i]), size+want[0][i]*want[0][i]
		}
	}
	if e := math.Sqrt(off / size); e > 0.005 {
		t.Errorf("error %g of the small entries", e)
	} else {
		t.Logf("error %.5f of the small entries", e)
	}
}

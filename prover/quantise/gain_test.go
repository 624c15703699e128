package quantise

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
)

// What a norm's rows are multiplied by and added to goes into the weights that
// follow, whatever these look like; unless something else reads the result.
func TestGain(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	const width, out = 48, 8
	row := func(n network, mean float64) graph.Value {
		return n.constant([]int{width}, func(int) float64 { return mean + 0.5*rng.NormFloat64() })
	}
	normal := func(n network, shape ...int) graph.Value {
		return n.constant(shape, func(int) float64 { return rng.NormFloat64() })
	}
	for name, c := range map[string]struct {
		build func(n network, x graph.Value) graph.Value
		held  bool // the product with the gain
	}{
		"MatMul": {func(n network, x graph.Value) graph.Value {
			return n.MatMul(n.Mul(x, row(n, 1)), normal(n, width, out))
		}, false},
		"MatMul, shifted": {func(n network, x graph.Value) graph.Value {
			y := n.Sub(n.Add(n.Mul(x, row(n, 1)), row(n, 2)), row(n, -3))
			return n.Add(n.MatMul(y, normal(n, width, out)), n.MatMul(y, normal(n, width, out)))
		}, false},
		"Gemm": {func(n network, x graph.Value) graph.Value {
			y := n.Add(n.Mul(x, row(n, 1)), row(n, 2))
			return n.Gemm(graph.Gemm{TransB: true, Alpha: 1, Beta: 1}, y, normal(n, out, width), normal(n, out))
		}, false},
		"Gemm, one number": {func(n network, x graph.Value) graph.Value {
			return n.Gemm(graph.Gemm{Alpha: 1, Beta: 1}, n.Add(n.Mul(x, n.Number(0.3)), n.Number(0.7)), normal(n, width, out), n.Number(2))
		}, false},
		"read twice": {func(n network, x graph.Value) graph.Value {
			y := n.Mul(x, row(n, 1))
			return n.Add(n.MatMul(y, normal(n, width, width)), y)
		}, true},
		"one row of gains for each row": {func(n network, x graph.Value) graph.Value {
			return n.MatMul(n.Mul(x, normal(n, 5, width)), normal(n, width, out))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork([]int{5, width})
			g := n.graph(t, c.build(n, n.Norm(graph.Norm{Axes: []int{1}, Centred: true, Epsilon: 1e-5}, n.in[0])))
			x := outliers(5*width, 1, rng)
			for i := range width {
				x[i] /= 100
			}
			m, _, got, want := run(t, g, [][]float64{x}, Options{})
			if a := Compare(got[0], want[0]); a.Relative > 0.001 {
				t.Errorf("error %g of the range", a.Relative)
			}
			for _, node := range g.Nodes {
				if _, held := m.entries[node.Output]; node.Op == graph.Mul && held != c.held {
					t.Errorf("the product with the gain is held: %v", held)
				}
			}
		})
	}
}

// A product of wide values with large weights for one channel, added to a stream of
// small values: all channels keep the precision of the stream, although the product's
// own scale is coarser.
func TestCoarseProductInStream(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	const rows, k, width = 4, 256, 16
	n := newNetwork([]int{rows, k}, []int{rows, k}, []int{rows, width})
	w := n.constant([]int{k, width}, func(i int) float64 {
		if i%width == 5 {
			return rng.NormFloat64()
		}
		return 0.05 * rng.NormFloat64()
	})
	product := n.Mul(n.in[0], n.in[1])
	sum := n.Add(n.in[2], n.MatMul(product, w))
	g := n.graph(t, n.Add(sum, n.in[2]))
	x, y := normal(rows*k, rng), normal(rows*k, rng)
	x[7], y[7] = 60, 60 // in the first row alone
	formats := Formats{"in0": {Bits: 15}, "in1": {Bits: 15}, "in2": {Bits: 15}, g.Nodes[0].Output: {Bits: 20}}
	for _, node := range g.Nodes {
		if sums(node) {
			formats[node.Output] = Format{Bits: 26}
		}
	}
	m, _, got, want := run(t, g, [][]float64{x, y, normal(rows*width, rng)}, Options{Formats: formats})
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

// The usual formats are by role.
func TestUsualFormats(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	g := transformer(t, rng)
	f := usual(g, 0, func(string) int { return productBits })
	count := map[int]int{}
	for _, n := range g.Nodes {
		b := f[n.Output].Bits
		count[b]++
		_, norm := n.Op.(graph.Norm)
		if norm && b != normBits || n.Op == (graph.Softmax{}) && b != 0 {
			t.Errorf("%s %s: %d bits", n.Op.Kind(), n.Output, b)
		}
	}
	// Three layers of two sums; in each the scores, and what they are made of.
	if count[sumBits] != 6 || count[scoreBits] < 3 || count[productBits] != 0 {
		t.Errorf("%v", count)
	}
	if f := usual(tabular(t, rng), 0, nil); len(f) != 0 {
		t.Errorf("formats without norms: %v", f)
	}
}

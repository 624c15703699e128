package quantise

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/internal/networks"
)

// What is added to a stream may be far smaller than its static bound, whatever it takes
// to round that.
func TestSmallSumsIntoStream(t *testing.T) {
	const rows, k, width = 4, 256, 16
	for _, small := range []int{0, 3, 6, 9, 10, 11, 12} { // bits below the bound of a sum of so many
		t.Run(fmt.Sprint(small), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(15, uint64(small)))
			n := networks.New([]int{rows, k}, []int{rows, width})
			pair := 0.0 // weights that cancel
			w := n.Filled([]int{k, width}, func(i int) float64 {
				if i/width%2 == 0 {
					pair = 1 + float64(i/width)/k
				}
				return pair * (1 - float64(i/width%2)*2)
			})
			sum := n.Add(n.In[1], n.MatMul(n.In[0], w))
			g := n.WithOutput(t, n.Add(sum, n.In[1]))
			x := make([]float64, rows*k)
			for i := range x {
				x[i] = 1 + math.Ldexp(rng.Float64(), -small) // nearly cancel
			}
			formats := Formats{"in0": {Bits: 15}, "in1": {Bits: 15}}
			for _, node := range g.Nodes {
				formats[node.Output] = Format{Bits: 26}
			}
			_, _, got, want := run(t, g, [][]float64{x, networks.Normal(rows*width, rng)}, Options{Formats: formats})
			if a := Compare(got[0], want[0]); a.Relative > 0.001 {
				t.Errorf("error %.4f %% of the range", 100*a.Relative)
			}
		})
	}
}

// What a stream holds takes no bits from the weights of what is added to it: one large
// entry of the stream leaves the others as they are.
func TestWeightsBesideLargeStream(t *testing.T) {
	const rows, k, width = 4, 64, 16
	off := func(large float64) float64 {
		rng := rand.New(rand.NewPCG(16, 17))
		n := networks.New([]int{rows, k}, []int{rows, width})
		added := n.MatMul(n.In[0], n.Filled([]int{k, width}, func(int) float64 { return rng.NormFloat64() / 8 }))
		g := n.WithOutput(t, n.Add(n.Add(n.In[1], added), n.In[1]))
		x, y := networks.Normal(rows*k, rng), networks.Normal(rows*width, rng)
		y[3] = large
		formats := Formats{"in0": {Bits: 20}, "in1": {Bits: 26}}
		for _, node := range g.Nodes {
			if node.Op == graph.Add {
				formats[node.Output] = Format{Bits: 28}
			}
		}
		_, _, got, want := run(t, g, [][]float64{x, y}, Options{Formats: formats})
		most := 0.0
		for i := width; i < rows*width; i++ {
			most = math.Max(most, math.Abs(got[0][i]-want[0][i]))
		}
		return most
	}
	small, large := off(4), off(500)
	t.Logf("errors of %.2g and %.2g", small, large)
	if large > 2*small {
		t.Errorf("an error of %g beside an entry of 500, %g without", large, small)
	}
}

// Weights that multiply a stream keep their bits, however far what norms add to it could take it:
// it is clamped to what calibration saw, as other values are, and so is what its entries are
// moved to.
func TestWeightsOfLongStream(t *testing.T) {
	const rows, width, layers = 6, 256, 24
	for name, moved := range map[string]func(n networks.Network, x graph.Value) graph.Value{
		"as it is": func(n networks.Network, x graph.Value) graph.Value { return x },
		"rolled": func(n networks.Network, x graph.Value) graph.Value {
			part := func(from, to int) graph.Value {
				return n.Slice(x, []int{from, 0}, []int{1, 1}, []int{to - from, width})
			}
			return n.Concat(0, part(2, rows), part(0, 2))
		},
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(18, 19))
			n := networks.New([]int{rows, width})
			weights := func() graph.Value {
				return n.Filled([]int{width, width}, func(int) float64 { return rng.NormFloat64() / 16 })
			}
			x := n.In[0]
			for range layers { // a norm's rows reach 16, and have 1 mostly
				x = n.Add(x, n.Norm(graph.Norm{Axes: []int{1}, Centred: true, Epsilon: 1e-5}, n.MatMul(moved(n, x), weights())))
			}
			g := n.WithOutput(t, n.MatMul(x, weights()))
			formats := usualFormats(g)
			in := [][]float64{networks.Normal(rows*width, rng)}
			for i := range in[0] {
				in[0][i] *= 4
			}
			_, _, got, want := run(t, g, in, Options{Formats: formats})
			a := Compare(got[0], want[0])
			t.Logf("error %.4f %% of the range", 100*a.Relative)
			if a.Relative > 0.001 {
				t.Errorf("error %.4f %% of the range", 100*a.Relative)
			}
		})
	}
}

// A stream that leaves the weights their bits keeps its own: features of which some are
// hundreds of times as large as others stay what they are, less their mean and divided by
// their size.
func TestFeaturesOfOneStream(t *testing.T) {
	const rows, width = 64, 13
	rng := rand.New(rand.NewPCG(20, 21))
	n := networks.New([]int{rows, width})
	size := func(i int) float64 { return math.Pow(10, 3-float64(i%width)/4) }
	mean := n.Filled([]int{width}, func(i int) float64 { return size(i) })
	inverse := n.Filled([]int{width}, func(i int) float64 { return 1 / size(i) })
	x := n.Mul(n.Sub(n.In[0], mean), inverse)
	y := n.MatMul(x, n.Filled([]int{width, 3}, func(int) float64 { return rng.NormFloat64() }))
	n.Output("features", n.Relu(n.In[0])) // reads them as they are
	g := n.WithOutput(t, y)
	in := networks.Normal(rows*width, rng)
	for i := range in {
		in[i] *= size(i)
	}
	formats := Formats{"in0": {Bits: 24}}
	for _, node := range g.Nodes {
		formats[node.Output] = Format{Bits: 18, Weights: 22}
	}
	_, _, got, want := run(t, g, [][]float64{in}, Options{Formats: formats})
	a := Compare(got[1], want[1])
	t.Logf("error %.4f %% of the range", 100*a.Relative)
	if a.Relative > 0.0001 {
		t.Errorf("error %.4f %% of the range", 100*a.Relative)
	}
}

// Sums of so many products that what weights are rounded by may exceed an accumulator, on any
// scale of theirs, do without limbs.
func TestWeightsOfLongSums(t *testing.T) {
	const rows, width = 2, 1 << 17
	n := networks.New([]int{rows, width})
	x := n.Add(n.Add(n.In[0], n.In[0]), n.In[0])
	g := n.WithOutput(t, n.MatMul(x, n.Filled([]int{width, 2}, func(i int) float64 { return float64(i%7) - 3 })))
	in := [][]float64{make([]float64, rows*width)}
	for i := range in[0] {
		in[0][i] = float64(i%100) - 50
	}
	for _, f := range []Format{{Bits: 20, Weights: 13}, {Bits: 20, Weights: 22}, {Bits: 26, Weights: 13}, {Bits: 28, Weights: 22}} {
		formats := Formats{"in0": {Bits: 24}}
		for _, node := range g.Nodes {
			formats[node.Output] = f
		}
		_, _, got, want := run(t, g, in, Options{Formats: formats})
		if a := Compare(got[0], want[0]); a.Relative > 0.001 {
			t.Errorf("%v: error %.4f %% of the range", f, 100*a.Relative)
		}
	}
}

// usualFormats are those of a stream that norms of products with weights are added to.
func usualFormats(g *graph.Graph) Formats {
	f := Formats{g.Inputs[0].Name: {Bits: 14}}
	for _, n := range g.Nodes {
		switch graph.Kind(n.Op) {
		case "Add":
			f[n.Output] = Format{Bits: 26}
		case "MatMul":
			f[n.Output] = Format{Bits: 14, Weights: 13}
		case "Concat", "Slice":
			f[n.Output] = Format{Bits: 14}
		default:
			f[n.Output] = Format{Bits: 15}
		}
	}
	return f
}

// A sum that is 0 in all samples, such as that of experts that none has chosen, sets no scale of the stream that it is added to.
func TestSumOfNothingInStream(t *testing.T) {
	const rows, width = 4, 16
	n := networks.New([]int{rows, width}, []int{rows, width})
	nothing := n.Apply(graph.Relu, n.Sub(n.In[1], n.Number(1000)))
	sum := n.Add(nothing, n.Mul(nothing, n.Number(0.5)))
	g := n.WithOutput(t, n.Add(n.Add(n.In[0], n.In[1]), sum))
	formats := Formats{"in0": {Bits: 15}, "in1": {Bits: 15}}
	for _, node := range g.Nodes {
		if node.Op == graph.Add {
			formats[node.Output] = Format{Bits: 26}
		}
	}
	rng := rand.New(rand.NewPCG(18, 19))
	_, _, got, want := run(t, g, [][]float64{networks.Normal(rows*width, rng), networks.Normal(rows*width, rng)}, Options{Formats: formats})
	if a := Compare(got[0], want[0]); a.Relative > 0.001 {
		t.Errorf("error %.4f %% of the range", 100*a.Relative)
	}
}

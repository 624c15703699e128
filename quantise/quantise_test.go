package quantise

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/quantise/internal/networks"
)

func TestRefusalsNameEveryNode(t *testing.T) {
	shape := []int{4}
	g := &graph.Graph{
		Inputs: []graph.Input{{Name: "x", Shape: shape, DType: graph.Float}}, Outputs: []string{"c"},
		Nodes: []*graph.Node{
			{Op: graph.Scalar{Func: graph.Sign}, Name: "first", Inputs: []string{"x"}, Output: "a"},
			{Op: graph.Where{}, Name: "second", Inputs: []string{"x", "x", "x"}, Output: "b"},
			{Op: graph.Add, Name: "third", Inputs: []string{"a", "b"}, Output: "c"}, // no fault of its own
		},
		Shapes: map[string][]int{"x": shape, "a": shape, "b": shape, "c": shape},
	}
	unit := Range{Min: -1, Max: 1}
	_, err := Quantise(g, map[string]Range{"x": unit, "a": unit, "b": unit, "c": unit}, Options{})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{`node "first" (Sign): operator not supported`, `node "second" (Where): only a constant condition`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "third") {
		t.Errorf("names a node that only depends on the others: %v", err)
	}
}

func TestRangesAreNeeded(t *testing.T) {
	n := networks.New([]int{4})
	g := n.WithOutput(t, n.Relu(n.In[0]))
	for _, ranges := range []map[string]Range{
		{"y": {Min: 0, Max: 1}}, {"in0": {Min: 0, Max: 1}}, {"in0": {Min: 0, Max: 1}, "y": {Min: 0, Max: math.Inf(1)}}, {"in0": {Min: 0, Max: 1}, "y": {Min: 0, Max: math.NaN()}},
	} {
		if _, err := Quantise(g, ranges, Options{}); err == nil {
			t.Errorf("%v: accepted", ranges)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{
		{Mode: "int4"}, {WeightBits: 1}, {WeightBits: 17}, {ActBits: 3}, {ActBits: 17}, {Headroom: 0.5},
		{Headroom: math.NaN()}, {MaxTableBits: 9}, {MaxTableBits: 21},
	} {
		if _, err := o.WithDefaults(); err == nil {
			t.Errorf("%+v: accepted", o)
		}
	}
	o, err := Options{Mode: "w8a8"}.WithDefaults()
	if err != nil || o.WeightBits != 8 || o.ActBits != 8 {
		t.Errorf("w8a8: %+v, %v", o, err)
	}
}

// reluModel is y = relu(2·x) of two entries, calibrated for |x| ≤ 1.
func reluModel(t *testing.T) *Model {
	t.Helper()
	n := networks.New([]int{2})
	x := n.Mul(n.In[0], n.Number(2))
	g := n.WithOutput(t, n.Relu(n.Add(x, n.Filled([]int{2}, func(i int) float64 { return float64(i) / 3 }))))
	values, err := g.RunFloat([][]float64{{-1, 1}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := Quantise(g, Ranges(values), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestSaturation(t *testing.T) {
	m := reluModel(t)
	for _, c := range []struct {
		x              []float64
		inputs, values int
	}{{[]float64{-1, 1}, 0, 0}, {[]float64{1.9, 1.9}, 0, 0}, {[]float64{100, 0}, 1, 1}, {[]float64{-100, -100}, 2, 0}} {
		ints, saturated, err := m.QuantiseInput([][]float64{c.x})
		if err != nil {
			t.Fatal(err)
		}
		if saturated != c.inputs {
			t.Errorf("%v: %d inputs saturated, want %d", c.x, saturated, c.inputs)
		}
		w, err := forward.Run(context.Background(), m.Graph, m.Weights, ints)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for node, k := range m.Saturation(w) {
			if node != "Relu" {
				t.Errorf("%v: saturation at %q", c.x, node)
			}
			n += k.Count
		}
		if n > c.values {
			t.Errorf("%v: %d values saturated, want at most %d", c.x, n, c.values)
		}
	}
}

func TestQuantiseInputErrors(t *testing.T) {
	m := reluModel(t)
	for _, in := range [][][]float64{nil, {{1}}, {{1, 2, 3}}, {{1, math.NaN()}}, {{math.Inf(1), 1}}, {{1, 2}, {1, 2}}} {
		if _, _, err := m.QuantiseInput(in); err == nil {
			t.Errorf("%v: accepted", in)
		}
	}
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		got, want []float64
		a         Accuracy
	}{
		{[]float64{1, 2}, []float64{1, 2}, Accuracy{MaxError: 0, Range: 2, Relative: 0, Cosine: 1}},
		{[]float64{0, 0}, []float64{0, 0}, Accuracy{MaxError: 0, Range: 0, Relative: 0, Cosine: 1}},
		{[]float64{0, 1}, []float64{0, 0}, Accuracy{MaxError: 1, Range: 0, Relative: math.Inf(1), Cosine: 0}},
		{[]float64{-1, 1}, []float64{-1, 3}, Accuracy{MaxError: 2, Range: 4, Relative: 0.5, Cosine: 4 / math.Sqrt(20)}},
	} {
		a := Compare(c.got, c.want)
		if a.MaxError != c.a.MaxError || a.Range != c.a.Range || a.Relative != c.a.Relative || math.Abs(a.Cosine-c.a.Cosine) > 1e-12 {
			t.Errorf("Compare(%v, %v) = %+v, want %+v", c.got, c.want, a, c.a)
		}
	}
}

// Weights keep their significant bits in channels of very different scales.
func TestWeightsPerChannel(t *testing.T) {
	n := networks.New([]int{1, 4})
	w := n.Filled([]int{2, 4}, func(i int) float64 { return []float64{1000, 1}[i/4] * float64(i%4+1) })
	g := n.WithOutput(t, n.Gemm(graph.Gemm{TransB: true, Alpha: 1, Beta: 1}, n.In[0], w))
	for _, opts := range []Options{{}, {Mode: "w8a8"}} {
		m, _, got, want := run(t, g, [][]float64{{1, -0.5, 0.25, 1}}, opts)
		for i := range want[0] {
			if math.Abs(got[0][i]-want[0][i]) > 0.02*math.Abs(want[0][i]) {
				t.Errorf("%+v: %v, want %v", opts, got, want)
			}
		}
		for _, id := range m.Graph.FixedIDs() {
			for i, x := range ints.All(m.Weights[id]) {
				for x != 0 && x%2 == 0 {
					x /= 2
				}
				if opts.Mode == "w8a8" && (x > 127 || x < -128) {
					t.Errorf("weight %d has a mantissa of %d", i, x)
				}
			}
		}
	}
}

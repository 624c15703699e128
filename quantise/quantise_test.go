package quantise

import (
	"context"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
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
	n := newNetwork([]int{4})
	g := n.graph(t, n.relu(n.in[0]))
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
		if _, err := o.withDefaults(); err == nil {
			t.Errorf("%+v: accepted", o)
		}
	}
	o, err := Options{Mode: "w8a8"}.withDefaults()
	if err != nil || o.WeightBits != 8 || o.ActBits != 8 {
		t.Errorf("w8a8: %+v, %v", o, err)
	}
}

// reluModel is y = relu(2·x) of two entries, calibrated for |x| ≤ 1.
func reluModel(t *testing.T) *Model {
	t.Helper()
	n := newNetwork([]int{2})
	x := n.Mul(n.in[0], n.Number(2))
	g := n.graph(t, n.relu(n.Add(x, n.constant([]int{2}, func(i int) float64 { return float64(i) / 3 }))))
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
		{[]float64{1, 2}, []float64{1, 2}, Accuracy{0, 2, 0, 1}},
		{[]float64{0, 0}, []float64{0, 0}, Accuracy{0, 0, 0, 1}},
		{[]float64{0, 1}, []float64{0, 0}, Accuracy{1, 0, math.Inf(1), 0}},
		{[]float64{-1, 1}, []float64{-1, 3}, Accuracy{2, 4, 0.5, 4 / math.Sqrt(20)}},
	} {
		a := Compare(c.got, c.want)
		if a.MaxError != c.a.MaxError || a.Range != c.a.Range || a.Relative != c.a.Relative || math.Abs(a.Cosine-c.a.Cosine) > 1e-12 {
			t.Errorf("Compare(%v, %v) = %+v, want %+v", c.got, c.want, a, c.a)
		}
	}
}

// Piecewise tables give the function they are named after on every key.
func TestPiecewiseTables(t *testing.T) {
	l := newLowering(&graph.Graph{}, nil, Options{Headroom: 2}, &weightStats{}).again(plan{tableBits: 6, bits: 4})
	clip := func(x, lo, hi int64) int64 { return min(max(x, lo), hi) }
	for _, c := range []struct{ lo, hi int64 }{{-8, 7}, {0, 7}, {-1000, 1000}, {3, 5}, {-32, 31}, {0, 0}, {-5, -2}} {
		for k, f := range map[kind]func(x int64) int64{
			keep: func(x int64) int64 { return clip(x, c.lo, c.hi) },
			absolute: func(x int64) int64 {
				return clip(max(x, -x), max(c.lo, 0), c.hi)
			},
			sign: func(x int64) int64 {
				if x < 0 {
					return clip(-1, c.lo, c.hi)
				}
				return clip(1, c.lo, c.hi)
			},
		} {
			if k == absolute && c.hi < 0 || k == sign && (c.lo > 1 || c.hi < -1 || c.lo > -1 || c.hi < 1) {
				continue
			}
			table := l.g.Tables[l.piecewise(k, c.lo, c.hi)]
			for key := table.Min; table.Contains(key); key++ {
				if got := table.Value(key, nil); got != f(key) {
					t.Fatalf("%s: %d gives %d, want %d", table.Name, key, got, f(key))
				}
			}
		}
	}
}

func TestReshapeView(t *testing.T) {
	for _, c := range []struct{ in, out []int }{
		{[]int{2, 3, 4}, []int{6, 4}}, {[]int{6, 4}, []int{2, 3, 4}}, {[]int{1, 5}, []int{5}}, {[]int{5}, []int{5, 1, 1}},
		{[]int{2, 6}, []int{3, 4}}, {[]int{1, 1}, nil}, {nil, []int{1, 1, 1}}, {[]int{1, 4, 1, 6}, []int{4, 2, 3, 1}}, {[]int{7, 2, 2}, []int{7, 4}},
	} {
		src := make(ints.Int8s, model.Size(c.in))
		for i := range src {
			src[i] = int8(i + 1)
		}
		v := reshapeView(c.in, c.out)
		if got := v.Gather(src, c.in, c.out); !reflect.DeepEqual(got, ints.Ints(src)) {
			t.Errorf("%v to %v: %v", c.in, c.out, got)
		}
		outs, ins := map[int]int{}, map[int]int{}
		for _, g := range v.Groups {
			for _, a := range g.Out {
				outs[a]++
			}
			for _, a := range g.In {
				ins[a]++
			}
		}
		if len(outs) != len(c.out) || len(ins) != len(c.in) {
			t.Errorf("%v to %v: groups %+v", c.in, c.out, v.Groups)
		}
	}
}

// Weights keep their significant bits in channels of very different scales.
func TestWeightsPerChannel(t *testing.T) {
	n := newNetwork([]int{1, 4})
	w := n.constant([]int{2, 4}, func(i int) float64 { return []float64{1000, 1}[i/4] * float64(i%4+1) })
	g := n.graph(t, n.Gemm(graph.Gemm{TransB: true, Alpha: 1, Beta: 1}, n.in[0], w))
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

package precision

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/internal/networks"
	"github.com/prove-model/prove-model/quantise/lower"
)

// Of many elements as many are judged as is little work, and of large models as many as samples
// that are no batches.
func TestJudged(t *testing.T) {
	for _, c := range []struct {
		products float64
		entries  int
		want     int
	}{
		{1, 1, 1 << 26}, {1 << 10, 1, 1 << 18}, {1 << 10, 1 << 16, 1 << 10}, {1 << 27, 1, 4}, {1 << 30, 1 << 24, 4}, {1 << 34, 1, 2}, {1 << 36, 1, 1}, {1, 1 << 27, 4},
	} {
		if n := judged(c.products, c.entries); n != c.want {
			t.Errorf("%d of %g products and %d entries, not %d", n, c.products, c.entries, c.want)
		}
	}
}

// Few elements are samples of their own, many are one batch, and what is so already is taken as it is.
func TestElements(t *testing.T) {
	x := make([]float64, 8*12)
	for i := range x {
		x[i] = float64(i)
	}
	sample := func(from, to int) Sample {
		return Sample{Graph: networks.OpenTable(t, to-from), Inputs: [][]float64{x[8*from : 8*to]}, Float: &FloatRun{}}
	}
	fg := networks.OpenTable(t, 3)
	values, err := fg.RunFloat([][]float64{x[:24]})
	if err != nil {
		t.Fatal(err)
	}
	m, err := lower.Quantise(fg, lower.Ranges(values), lower.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if m, err = m.At(model.Instance{Sizes: []int{1}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		samples    []Sample
		want, size int
		same       bool
	}{
		{[]Sample{sample(0, 5), sample(5, 6), sample(6, 12)}, 1, 12, false},
		{[]Sample{sample(0, 12)}, 1, 12, true},
		{[]Sample{sample(0, 2), sample(2, 3)}, 3, 1, false},
		{[]Sample{sample(0, 1), sample(1, 3)}, 3, 1, false},
		{[]Sample{sample(0, 4)}, 4, 1, false},
		{[]Sample{sample(0, 1), sample(1, 2), sample(2, 3)}, 3, 1, true},
		{[]Sample{sample(0, 1)}, 1, 1, true},
	} {
		got := elements(fg, "rows", c.samples, m)
		if len(got) != c.want {
			t.Errorf("%d samples, not %d", len(got), c.want)
			continue
		}
		for i, s := range got {
			if !reflect.DeepEqual(s.Inputs, [][]float64{x[8*c.size*i : 8*c.size*(i+1)]}) || s.Graph.Inputs[0].Shape[0] != c.size || (s.Float != nil) != c.same {
				t.Errorf("%d samples: sample %d is %+v", len(c.samples), i, s)
			}
		}
	}
}

// The entries of an element are those of its tensors, however many chunks a batch takes.
func TestPerElement(t *testing.T) {
	const rows, width, layers = 1 << 17, 8, 4
	var build func(n int) *graph.Graph
	build = func(n int) *graph.Graph {
		b, rng := networks.Network{Builder: graph.NewBuilder("wide")}, rand.New(rand.NewPCG(34, 35))
		x := b.Input("x", graph.Float, []int{n, rows, width}, "batch", "", "")
		for range layers {
			x = b.Relu(b.Dense(x, width, rng))
		}
		g := b.WithOutput(t, x)
		g.Rebind = func(sizes map[string]int) (*graph.Graph, error) {
			if n := sizes["batch"]; n*rows*width <= graph.MaxInput {
				return build(n), nil
			}
			return nil, errors.New("too large")
		}
		return g
	}
	g, ranges := build(1), map[string]lower.Range{}
	for _, name := range lower.Values(g) {
		ranges[name] = lower.Range{Min: -1, Max: 1}
	}
	m, err := lower.Quantise(g, ranges, lower.Options{})
	if err != nil {
		t.Fatal(err)
	}
	two, err := m.At(model.Instance{Sizes: []int{2}})
	if err != nil {
		t.Fatal(err)
	}
	if one, more := m.Graph.Chunks, two.Graph.Chunks; one >= more {
		t.Fatalf("%d chunks, and %d for two", one, more)
	}
	if n := perElement(m); n < layers*rows*width || n > 8*layers*rows*width {
		t.Errorf("%d entries", n)
	}
}

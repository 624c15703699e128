package quantise

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// openTable is a model of tables of n rows, which leaves their number open.
func openTable(t *testing.T, n int) *graph.Graph {
	rng := rand.New(rand.NewPCG(30, 31))
	b := network{Builder: graph.NewBuilder("table")}
	x := b.Input("x", graph.Float, []int{n, 8}, "rows", "")
	for range 2 {
		x = b.Apply(graph.Sigmoid, b.dense(x, 24, rng))
	}
	g := b.graph(t, b.dense(x, 3, rng))
	g.Rebind = func(sizes map[string]int) (*graph.Graph, error) { return openTable(t, sizes["rows"]), nil }
	return g
}

// What is chosen for a free batch is the same however the elements are cut into samples, and
// whatever the size of the run.
func TestChooseElements(t *testing.T) {
	const all = 24
	rng := rand.New(rand.NewPCG(32, 33))
	x := normal(all*8, rng)
	values, err := openTable(t, all).RunFloat([][]float64{x})
	if err != nil {
		t.Fatal(err)
	}
	ranges := Ranges(values)
	choose := func(run int, cuts ...int) (*Model, *Choice) {
		var samples []Sample
		for at, i := 0, 0; at < all; i++ {
			n := min(cuts[i%len(cuts)], all-at)
			samples = append(samples, Sample{Graph: openTable(t, n), Inputs: [][]float64{x[8*at : 8*(at+n)]}})
			at += n
		}
		m, c, err := Choose(t.Context(), openTable(t, run), samples, ranges, Options{Target: 2e-4})
		if err != nil {
			t.Fatal(err)
		}
		if m.OneBatch != nil || !reflect.DeepEqual(m.Graph.Instance.Sizes, []int{run}) {
			t.Fatalf("%v, of size %v", m.OneBatch, m.Graph.Instance.Sizes)
		}
		return m, c
	}
	want, choice := choose(1, all)
	if choice.Runs < 3 || len(choice.Formats) == 0 {
		t.Fatalf("%d runs, formats %v: there is no search", choice.Runs, choice.Formats)
	}
	for _, c := range []struct {
		run  int
		cuts []int
	}{{1, []int{1}}, {7, []int{all}}, {all, []int{5, 1, 9}}} {
		got, again := choose(c.run, c.cuts...)
		if !reflect.DeepEqual(again, choice) || !reflect.DeepEqual(got.Weights, want.Weights) || !reflect.DeepEqual(got.Circuit, want.Circuit) {
			t.Errorf("a run of %d with samples of %d: %+v, not %+v", c.run, c.cuts, again, choice)
		}
	}
}

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
		return Sample{Graph: openTable(t, to-from), Inputs: [][]float64{x[8*from : 8*to]}, Float: &FloatRun{}}
	}
	fg := openTable(t, 3)
	values, err := fg.RunFloat([][]float64{x[:24]})
	if err != nil {
		t.Fatal(err)
	}
	m, err := Quantise(fg, Ranges(values), Options{})
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
		got, err := elements(fg, "rows", c.samples, m)
		if err != nil {
			t.Fatal(err)
		}
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
		b, rng := network{Builder: graph.NewBuilder("wide")}, rand.New(rand.NewPCG(34, 35))
		x := b.Input("x", graph.Float, []int{n, rows, width}, "batch", "", "")
		for range layers {
			x = b.relu(b.dense(x, width, rng))
		}
		g := b.graph(t, x)
		g.Rebind = func(sizes map[string]int) (*graph.Graph, error) {
			if n := sizes["batch"]; n*rows*width <= graph.MaxInput {
				return build(n), nil
			}
			return nil, errors.New("too large")
		}
		return g
	}
	g, ranges := build(1), map[string]Range{}
	for _, name := range Values(g) {
		ranges[name] = Range{Min: -1, Max: 1}
	}
	m, err := Quantise(g, ranges, Options{})
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
	if n, err := m.perElement(); err != nil || n < layers*rows*width || n > 8*layers*rows*width {
		t.Errorf("%d entries, %v", n, err)
	}
}

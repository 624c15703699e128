package quantise

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/internal/networks"
)

// What is chosen for a free batch is the same however the elements are cut into samples, and
// whatever the size of the run.
func TestChooseElements(t *testing.T) {
	const all = 24
	rng := rand.New(rand.NewPCG(32, 33))
	x := networks.Normal(all*8, rng)
	values, err := networks.OpenTable(t, all).RunFloat([][]float64{x})
	if err != nil {
		t.Fatal(err)
	}
	ranges := Ranges(values)
	choose := func(run int, cuts ...int) (*Model, *Choice) {
		var samples []Sample
		for at, i := 0, 0; at < all; i++ {
			n := min(cuts[i%len(cuts)], all-at)
			samples = append(samples, Sample{Graph: networks.OpenTable(t, n), Inputs: [][]float64{x[8*at : 8*(at+n)]}})
			at += n
		}
		m, c, err := Choose(t.Context(), networks.OpenTable(t, run), samples, ranges, Options{Target: 2e-4})
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

// TestChooseSecondElement: formats are chosen for a model that reads the second element of its batch, and so has none of one element.
func TestChooseSecondElement(t *testing.T) {
	var build func(n int) (*graph.Graph, error)
	build = func(n int) (*graph.Graph, error) {
		b := graph.NewBuilder("second")
		x := b.Input("x", graph.Float, []int{n, 4}, "batch", "")
		b.Output("y", b.Mul(x, b.SliceAxis(x, 0, 1, 1, 1)))
		g, err := b.Graph()
		if err == nil {
			g.Rebind = func(sizes map[string]int) (*graph.Graph, error) { return build(sizes["batch"]) }
		}
		return g, err
	}
	g, err := build(3)
	if err != nil {
		t.Fatal(err)
	}
	in := [][]float64{networks.Normal(12, rand.New(rand.NewPCG(35, 36)))}
	values, err := g.RunFloat(in)
	if err != nil {
		t.Fatal(err)
	}
	m, c, err := Choose(t.Context(), g, []Sample{{Graph: g, Inputs: in}}, Ranges(values), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if a := Compare(m.Outputs(runChecked(t, m, in))[0], values["y"]); a.Relative > Target || c.Error > Target {
		t.Errorf("an error of %g, and %g as it is said", a.Relative, c.Error)
	}
}

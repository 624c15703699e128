package provemodel

import (
	"slices"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise"
)

// Values that a graph says are one quantity at several steps get the range of all of them, and others keep theirs.
func TestStepsHaveOneRange(t *testing.T) {
	b := graph.NewBuilder("steps")
	x := b.Input("x", graph.Float, []int{4})
	var steps []graph.Value
	sum := x
	for i := range 3 {
		sum = b.Mul(b.Apply(graph.Tanh, sum), b.Number(float64(i+1)))
		steps = append(steps, sum)
	}
	b.Alike(steps)
	b.Output("y", b.Apply(graph.Exp, sum))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Alike) != 1 || len(g.Alike[0]) != 3 {
		t.Fatalf("the graph has %v", g.Alike)
	}
	m := NewModel(g)
	seen, err := m.calibrate(t.Context(), []Input{{{-1, 2, 0.5, 1}}, {{3, -2, 0, 1}}}, func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	var each []quantise.Range
	for _, name := range g.Alike[0] {
		each = append(each, seen.ranges[name])
	}
	if each[0] != each[1] || each[1] != each[2] {
		t.Errorf("ranges %v", each)
	}
	if each[0].Max < 2.5 || each[0].Min > -2.5 { // those of the last step
		t.Errorf("the range %v is not that of all", each[0])
	}
	for name, r := range seen.ranges {
		if !slices.Contains(g.Alike[0], name) && r == each[0] {
			t.Errorf("%s has the range of the steps", name)
		}
	}
}

package graph

import (
	"math"
	"testing"
)

// TestSelection: what follows from the first few of each row says so, least or greatest, and how far the last of them is from the
// next; what depends on two selections, or has other rows, does not.
func TestSelection(t *testing.T) {
	for _, least := range []bool{false, true} {
		b := NewBuilder("g")
		x := b.Input("x", Float, []int{2, 4})
		values, indices := b.TopK(b.Apply(FunctionNamed("Tanh"), x), 2, least)
		b.Output("mean", b.Reduce(Mean, values, []int{1}, false))
		b.Output("where", indices)
		b.Output("turned", b.Transpose(values, []int{1, 0}))
		again, _ := b.TopK(values, 1, least)
		b.Output("twice", b.Add(again, b.Reduce(Mean, values, []int{1}, true)))
		b.Output("none", b.Add(x, x))
		g, err := b.Graph()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"mean", "where"} {
			s, ok := g.Selection(name)
			if !ok || s.K != 2 || s.Least != least || len(g.Shapes[s.Scores]) != 2 || g.Shapes[s.Scores][1] != 4 {
				t.Errorf("least %v, %s: %+v, %v", least, name, s, ok)
			}
		}
		for _, name := range []string{"none", "twice"} {
			if s, ok := g.Selection(name); ok {
				t.Errorf("%s: %+v", name, s)
			}
		}
	}
	scores := []float64{3, 1, 0, 2.5, -1, 4, 1, 1.5}
	for s, want := range map[Selection][]Boundary{
		{K: 2}:              {{3, 1, 1.5 / 5}, {7, 6, 0.5 / 5}},
		{K: 1, Least: true}: {{2, 1, 1. / 5}, {4, 6, 2. / 5}},
		{K: 4}:              {{0, 0, math.Inf(1)}, {0, 0, math.Inf(1)}},
	} {
		for row, got := range s.Boundaries(scores, 4) {
			w := want[row]
			w.In, w.Out = w.In%4, w.Out%4
			if got.In != w.In || got.Out != w.Out || math.Abs(got.Margin-w.Margin) > 1e-12 && got.Margin != w.Margin {
				t.Errorf("%+v, row %d: %+v, not %+v", s, row, got, w)
			}
		}
	}
}

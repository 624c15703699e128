package graph

import (
	"slices"
	"testing"
)

// TestWhereOfLowConstants: a Where gives the constants that it has, however low, to readers other than a Softmax, for which it is a
// mask without any product of the scores.
func TestWhereOfLowConstants(t *testing.T) {
	low := func(b *Builder) Value { return b.floats("low", []int{3}, []float32{-20000, -15000, -10000}) }
	for name, c := range map[string]struct {
		build func(b *Builder, cond, x Value) Value
		want  []float64
	}{
		"a list":              {func(b *Builder, cond, x Value) Value { return b.Where(cond, x, low(b)) }, []float64{1000, -15000, 3000}},
		"a list, if it holds": {func(b *Builder, cond, x Value) Value { return b.Where(cond, low(b), x) }, []float64{-20000, 2000, -10000}},
		"a number":            {func(b *Builder, cond, x Value) Value { return b.Where(cond, x, b.Number(-1e5)) }, []float64{1000, -1e5, 3000}},
		"two numbers": {func(b *Builder, cond, _ Value) Value {
			return b.Where(cond, b.Number(-20000), b.Number(-30000))
		}, []float64{-20000, -30000, -20000}},
		"one in another": {func(b *Builder, cond, x Value) Value {
			return b.Where(b.Not(cond), b.Where(cond, x, b.Number(-20000)), b.Number(-30000))
		}, []float64{-30000, -20000, -30000}},
		"beside a Softmax": {func(b *Builder, cond, x Value) Value {
			y := b.Where(cond, x, b.Number(-20000))
			return b.Add(y, b.Softmax(y, 0))
		}, []float64{1000, -20000, 3001}},
	} {
		b := NewBuilder("test")
		cond, x := b.Input("cond", Bool, []int{3}), b.Input("x", Float, []int{3})
		b.Output("y", c.build(b, cond, x))
		g, err := b.Graph()
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Validate(); err != nil {
			t.Fatal(err)
		}
		values, err := g.RunFloat([][]float64{{1, 0, 1}, {1000, 2000, 3000}})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(values["y"], c.want) {
			t.Errorf("%s: %v, not %v", name, values["y"], c.want)
		}
	}
	b := NewBuilder("test")
	cond, x := b.Input("cond", Bool, []int{3}), b.Input("x", Float, []int{3})
	b.Output("y", b.Softmax(b.Where(cond, x, b.Number(-20000)), 0))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range g.Nodes {
		if _, is := n.Op.(Arithmetic); is {
			t.Errorf("a Softmax of masked scores has an operator %s", Kind(n.Op))
		}
	}
}

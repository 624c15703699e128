package graph

import (
	"math"
	"slices"
	"testing"
)

// TestWholes: a value that is cast to integers is told where it is computed, and not where it is an input's.
func TestWholes(t *testing.T) {
	b := NewBuilder("casts")
	x := b.Input("x", Float, []int{2, 3})
	y := b.Softmax(x, 1)
	b.Output("computed", b.Cast(b.Reshape(y, []int{6}), Int32))
	b.Output("given", b.Cast(b.Transpose(x, []int{1, 0}), Int32))
	b.Output("floor", b.Apply(Floor, b.Mul(y, y)))
	b.Output("inside", b.Add(b.Apply(Floor, y), x)) // continuous in what follows, for all that is known
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"computed": 1, "given": 0, "floor": 1, "inside": 0} {
		if got := g.Wholes(name); len(got) != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	near := []float64{1 - 4e-8, 1 + 4e-8, -2 + 1e-7, 1000 - 1e-4}
	far := []float64{1, 0, 1e-9, -1e-9, 0.5, 1 - 1e-6, 1000.001, math.Inf(1), math.NaN(), 1<<23 + 0.5}
	if n := NearWhole(slices.Concat(near, far)); n != len(near) {
		t.Errorf("%d of %v, %v", n, near, far)
	}
}

// TestBeyond: numbers that float32 has as an infinity, or as 0 where it matters, are told.
func TestBeyond(t *testing.T) {
	b := NewBuilder("beyond")
	x := b.Input("x", Float, []int{1, 3})
	soft := b.Softmax(x, 1)
	b.Output("exp", b.Mul(b.Apply(Exp, x), soft))
	b.Output("log", b.Apply(Log, soft))
	b.Output("logsoftmax", b.LogSoftmax(x, 1))
	b.Output("quotient", b.Div(x, b.Mul(soft, soft)))
	b.Output("softmax", soft)
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]int{"exp": {0, 1}, "log": {0, 2}, "logsoftmax": {}, "quotient": {0, 2}, "softmax": {}} {
		for i, in := range [][]float64{{1, 2, 3}, {90, -40, -20}} {
			values, err := g.RunFloat([][]float64{in})
			if err != nil {
				t.Fatal(err)
			}
			got := 0
			for _, v := range g.Beyond(name) {
				got += v.Count(values[v.Value])
			}
			if got != want[i] {
				t.Errorf("%s of %v: %d, not %d", name, in, got, want[i])
			}
		}
	}
}

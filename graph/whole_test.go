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

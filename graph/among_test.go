package graph

import (
	"slices"
	"testing"
)

// Among marks the greatest, of equal ones the first, computed or folded.
func TestAmong(t *testing.T) {
	rows := []float64{3, 1, 2, 3, 0, 0, 0, 0, -1, -2, -1, -1}
	for k, want := range map[int][]float64{
		1: {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0},
		2: {1, 0, 0, 1, 1, 1, 0, 0, 1, 0, 1, 0},
		3: {1, 0, 1, 1, 1, 1, 1, 0, 1, 0, 1, 1},
		4: {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
	} {
		b := NewBuilder("among")
		x := b.Input("x", Float, []int{3, 4})
		c := b.Constant("c", &Tensor{Shape: []int{3, 4}, DType: Float, F32: convert[float32](rows)})
		b.Output("y", b.Among(x, k))
		folded := b.Tensor(b.Among(c, k))
		g, err := b.Graph()
		if err != nil {
			t.Fatal(err)
		}
		got, err := g.RunFloat([][]float64{rows})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got["y"], want) || folded == nil || !slices.Equal(folded.Float64s(), want) {
			t.Errorf("%d: %v, %v, want %v", k, got["y"], folded, want)
		}
	}
	for _, k := range []int{0, 5} {
		b := NewBuilder("among")
		if b.Valid(b.Among(b.Input("x", Float, []int{3, 4}), k)) {
			t.Errorf("%d of 4", k)
		}
	}
}

package graph

import (
	"slices"
	"testing"
)

// The scores behind an ArgMax, and behind what only it decides on, are found; of what depends on
// something else none are.
func TestChoice(t *testing.T) {
	b := NewBuilder("choice")
	x := b.Input("x", Float, []int{3, 2, 4})
	place := b.ArgMax(x, 1, false)
	b.Output("place", place)
	labels := b.Table(&Tensor{Shape: []int{2}, DType: Int64, I64: []int64{7, -3}})
	b.Output("label", b.Reshape(b.Take(labels, 0, place), []int{12}))
	b.Output("other", b.Add(place, b.Cast(b.Test(IsPositive, b.SliceAxis(x, 1, 0, 1, 1)), Int64)))
	b.Output("turned", b.Transpose(b.Reshape(place, []int{3, 4}), []int{1, 0}))
	b.Output("number", b.Apply(Relu, x))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	for i, is := range []bool{true, true, false, false, false} {
		scores, axis, ok := g.Choice(g.Outputs[i])
		if ok != is || ok && (scores != "x" || axis != 1) {
			t.Errorf("%s: %q along axis %d, %v", g.Outputs[i], scores, axis, ok)
		}
	}
	// Rows along the second axis, of a range of 8.
	got := Margins([]float64{4, 1, 0, -2, 3, 5, 0, -4, 0, 0, 0, 0, 4, 0, 0, 0}, []int{2, 2, 4}, 1)
	if want := []float64{1. / 9, 4. / 9, 0, 2. / 9, 4. / 9, 0, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("margins %v, not %v", got, want)
	}
}

package graph

import (
	"slices"
	"strings"
	"testing"
)

// rows is y = e[ids], with ids of shape [2, 2] in another shape.
func rows(t *testing.T, dt DType) (*Graph, error) {
	t.Helper()
	b := NewBuilder("rows")
	e := b.Constant("e", &Tensor{Shape: []int{3, 2}, DType: Float, F32: []float32{0, 1, 10, 11, 20, 21}})
	ids := b.Input("ids", dt, []int{2, 2})
	b.Output("y", b.Take(e, 0, b.Reshape(ids, []int{4})))
	return b.Graph()
}

func TestTake(t *testing.T) {
	g, err := rows(t, Int64)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	if n := g.Rows("ids"); n != 3 {
		t.Errorf("%d rows", n)
	}
	if n := g.Rows("y"); n != 0 {
		t.Errorf("%d rows for what is no index", n)
	}
	v, err := g.RunFloat([][]float64{{2, 0, 0, 1}})
	if want := []float64{20, 21, 0, 1, 0, 1, 10, 11}; err != nil || !slices.Equal(v["y"], want) {
		t.Errorf("%v, %v", v["y"], err)
	}
	for _, bad := range []float64{-1, 3, 0.5, 1e300} {
		if _, err := g.RunFloat([][]float64{{0, 0, bad, 0}}); err == nil || !strings.Contains(err.Error(), "element 2: it takes whole numbers from 0 to 2") {
			t.Errorf("index %v: %v", bad, err)
		}
	}
	for _, dt := range []DType{Float, Bool} {
		if _, err := rows(t, dt); err == nil || !strings.Contains(err.Error(), "its indices have type") {
			t.Errorf("indices of type %v: %v", dt, err)
		}
	}
}

// TestTakeConstant: constant indices fold, and may count from the end.
func TestTakeConstant(t *testing.T) {
	b := NewBuilder("constant")
	x := b.Input("x", Float, []int{3, 2})
	b.Output("y", b.Take(x, 1, b.Integers([]int{}, []int64{-1})))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	v, err := g.RunFloat([][]float64{{0, 1, 2, 3, 4, 5}})
	if err != nil || !slices.Equal(v["y"], []float64{1, 3, 5}) {
		t.Errorf("%v, %v", v["y"], err)
	}
	b = NewBuilder("beyond")
	b.Output("y", b.Take(b.Input("x", Float, []int{3, 2}), 1, b.Integers([]int{1}, []int64{2})))
	if _, err := b.Graph(); err == nil {
		t.Error("an index beyond the axis")
	}
}

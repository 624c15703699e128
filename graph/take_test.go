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
	v, err := g.RunFloat([][]float64{{2, 0, -3, -2}}) // two of them from the end
	if want := []float64{20, 21, 0, 1, 0, 1, 10, 11}; err != nil || !slices.Equal(v["y"], want) {
		t.Errorf("%v, %v", v["y"], err)
	}
	for _, bad := range []float64{-4, 3, 0.5, 1e9} {
		if _, err := g.RunFloat([][]float64{{0, 0, bad, 0}}); err == nil || !strings.Contains(err.Error(), "element 2: it takes whole numbers from -3 to 2") {
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

// Computed indices choose rows, of few and of many: they count from the end, and where there
// is no row they give zeros. Axes and types of any kind.
func TestTakeComputed(t *testing.T) {
	for _, c := range []struct {
		shape []int
		axis  int
		dtype DType
	}{{[]int{5}, 0, Float}, {[]int{64, 2}, 0, Float}, {[]int{65, 3}, 0, Float}, {[]int{2, 130, 2}, 1, Float}, {[]int{3, 70}, 1, Int64}, {[]int{4, 2}, 0, Bool}} {
		n, rows := Size(c.shape), c.shape[c.axis]
		b := NewBuilder("computed")
		x := b.Input("x", c.dtype, c.shape)
		at := b.Input("at", Float, []int{2, 2})
		i := b.Cast(b.Apply(Floor, at), Int64)
		y := b.Take(x, c.axis, i)
		b.Output("y", b.Cast(y, Float))
		g, err := b.Graph()
		if err != nil {
			t.Fatal(err)
		}
		if want := slices.Concat(c.shape[:c.axis], []int{2, 2}, c.shape[c.axis+1:]); !slices.Equal(g.Shapes["y"], want) {
			t.Errorf("%v: shape %v", c, g.Shapes["y"])
		}
		data := make([]float64, n)
		for j := range data {
			if data[j] = float64(j + 1); c.dtype == Bool {
				data[j] = float64(j % 2)
			}
		}
		indices := []float64{float64(rows - 1), -1.0, 0.5, 1}
		v, err := g.RunFloat([][]float64{data, indices})
		if err != nil {
			t.Fatal(err)
		}
		inner := Size(c.shape[c.axis+1:])
		for j, got := range v["y"] {
			outer, k, e := j/(4*inner), j/inner%4, j%inner
			row := []int{rows - 1, rows - 1, 0, 1}[k]
			if want := data[(outer*rows+row)*inner+e]; got != want {
				t.Fatalf("%v: entry %d is %v, not %v", c, j, got, want)
			}
		}
		v, err = g.RunFloat([][]float64{data, {float64(rows), float64(-rows - 1), 1e6, -1e6}})
		if err != nil || slices.ContainsFunc(v["y"], func(x float64) bool { return x != 0 }) {
			t.Errorf("%v: where there is no row: %v, %v", c, v["y"], err)
		}
	}
	b := NewBuilder("too many")
	x := b.Input("x", Float, []int{1 << 14, 1})
	at := b.Cast(b.Input("at", Float, []int{1<<10 + 1}), Int64)
	b.Output("y", b.Take(x, 0, at))
	if _, err := b.Graph(); err == nil || !strings.Contains(err.Error(), "1025 computed indices choose among 16384 each") {
		t.Error(err)
	}
}

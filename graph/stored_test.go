package graph

import (
	"slices"
	"testing"

	"github.com/prove-model/prove-model/internal/refuse"
)

// A constant that is stored elsewhere is the constant that it holds.
func TestStored(t *testing.T) {
	v := make([]float32, 35)
	for i := range v {
		v[i] = float32(i*i%11) - 5
	}
	plain := &Tensor{Shape: []int{5, 7}, DType: Float, F32: v}
	lazy := &Tensor{Shape: []int{5, 7}, DType: Float, Stored: NewStored(len(v), func(dst []float32, from int) { copy(dst, v[from:]) })}
	if lazy.Len() != 35 || !slices.Equal(lazy.Floats(), v) || lazy.At(9) != plain.At(9) || !slices.Equal(lazy.Float64s(), plain.Float64s()) {
		t.Fatal("other numbers")
	}
	part, want := make([]float32, 3), v[4:7]
	if lazy.Read(part, 4); !slices.Equal(part, want) {
		t.Errorf("%v, not %v", part, want)
	}
	if plain.Read(part, 4); !slices.Equal(part, want) {
		t.Errorf("%v, not %v", part, want)
	}
	run := func(w *Tensor) []float64 {
		b := NewBuilder("")
		x := b.Input("x", Float, []int{5, 5})
		y := b.MatMul(x, b.Constant("w", w)) // at run time
		b.Output("y", b.Add(y, b.Softmax(b.Constant("u", w), 1)))
		g, err := b.Graph()
		if err != nil {
			t.Fatal(err)
		}
		in := make([]float64, 25)
		for i := range in {
			in[i] = float64(i) / 3
		}
		out, err := g.RunFloat([][]float64{in})
		if err != nil {
			t.Fatal(err)
		}
		return out[g.Outputs[0]]
	}
	if a, b := run(plain), run(lazy); !slices.Equal(a, b) {
		t.Errorf("%v, not %v", b, a)
	}
	for name, bad := range map[string]*Tensor{
		"two":      {Shape: []int{35}, DType: Float, F32: v, Stored: lazy.Stored},
		"integers": {Shape: []int{35}, DType: Int64, Stored: lazy.Stored},
		"length":   {Shape: []int{36}, DType: Float, Stored: lazy.Stored},
	} {
		if refuse.Caught(bad.check) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// Rows of a stored constant are multiplied and taken a part at a time, with the same bits.
func TestStoredByParts(t *testing.T) {
	const n, k = 500, 700 // more than a part
	v := make([]float32, n*k)
	for i := range v {
		v[i] = float32(i*i%1013)/7 - 60
	}
	for _, m := range []int{1, 3, 4, 21, 70} {
		run := func(w *Tensor) []float64 {
			b := NewBuilder("")
			x, ids := b.Input("x", Float, []int{m, k}), b.Input("ids", Int64, []int{m})
			c := b.Constant("w", w)
			b.Output("y", b.Gemm(Gemm{TransB: true, Alpha: 1, Beta: 1}, b.Add(x, b.Take(c, 0, ids)), c))
			g, err := b.Graph()
			if err != nil {
				t.Fatal(err)
			}
			in := [][]float64{make([]float64, m*k), make([]float64, m)}
			for i := range in[0] {
				in[0][i] = float64(i%17) / 3
			}
			for i := range in[1] {
				in[1][i] = float64((i*i + 499) % n)
			}
			out, err := g.RunFloat(in)
			if err != nil {
				t.Fatal(err)
			}
			return out[g.Outputs[0]]
		}
		stored := NewStored(len(v), func(dst []float32, from int) { copy(dst, v[from:]) })
		want := run(&Tensor{Shape: []int{n, k}, DType: Float, F32: v})
		if got := run(&Tensor{Shape: []int{n, k}, DType: Float, Stored: stored}); !slices.Equal(got, want) {
			t.Errorf("%d rows: other numbers", m)
		}
		if stored.whole.Value() != nil {
			t.Errorf("%d rows: somebody has read all of it", m)
		}
	}
}

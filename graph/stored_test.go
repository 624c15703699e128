package graph

import (
	"slices"
	"testing"
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
		if bad.check() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

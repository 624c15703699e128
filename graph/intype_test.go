package graph

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestInType holds arithmetic of integers against Go's, at all the ends of a type: of 8
// and 16 bits it wraps, and what leaves a longer type is refused by the node's name.
func TestInType(t *testing.T) {
	types := map[DType]func(int64) int64{
		Int8: func(v int64) int64 { return int64(int8(v)) }, Uint8: func(v int64) int64 { return int64(uint8(v)) },
		Int16: func(v int64) int64 { return int64(int16(v)) }, Uint16: func(v int64) int64 { return int64(uint16(v)) },
		Int32: func(v int64) int64 { return int64(int32(v)) }, Uint32: func(v int64) int64 { return int64(uint32(v)) },
	}
	combine := []struct {
		make func(*Builder, Value, Value) Value
		want func(a, b int64) int64
	}{
		{(*Builder).Add, func(a, b int64) int64 { return a + b }},
		{(*Builder).Sub, func(a, b int64) int64 { return a - b }},
		{(*Builder).Mul, func(a, b int64) int64 { return a * b }},
	}
	rapid.Check(t, func(t *rapid.T) {
		dt := rapid.SampledFrom([]DType{Int8, Uint8, Int16, Uint16, Int32, Uint32}).Draw(t, "type")
		op := rapid.SampledFrom(combine).Draw(t, "operator")
		lo, hi := dt.Bounds()
		entry := rapid.OneOf(rapid.SampledFrom([]int64{lo, hi, 0, 1}), rapid.Int64Range(lo, hi), rapid.Int64Range(max(lo, -100), min(hi, 100)))
		x, y := rapid.SliceOfN(entry, 3, 3).Draw(t, "x"), rapid.SliceOfN(entry, 3, 3).Draw(t, "y")
		exact, wrapped := make([]float64, 3), make([]float64, 3)
		for i := range exact {
			v := op.want(x[i], y[i])
			exact[i], wrapped[i] = float64(v), float64(types[dt](v))
		}
		constant := rapid.Bool().Draw(t, "constant")
		b := NewBuilder("wraps")
		var a Value
		if constant {
			a = b.Constant("a", &Tensor{Shape: []int{3}, DType: dt, I64: x})
		} else {
			a = b.Input("a", dt, []int{3})
		}
		b.At("Op", "the node")
		z := b.InType(op.make(b, a, b.Constant("c", &Tensor{Shape: []int{3}, DType: dt, I64: y})))
		if constant {
			if got := b.Tensor(z).Float64s(); !slices.Equal(got, wrapped) {
				t.Fatalf("constants: %v, not %v", got, wrapped)
			}
			return
		}
		b.Output("z", z)
		g, err := b.Graph()
		if err != nil {
			t.Fatal(err)
		}
		in := make([]float64, 3)
		for i, v := range x {
			in[i] = float64(v)
		}
		got, err := g.RunFloat([][]float64{in})
		if dt.Bits() > 16 && !slices.Equal(exact, wrapped) {
			if err == nil || !strings.Contains(err.Error(), "the node") {
				t.Fatalf("%v wraps: %v", dt, err)
			}
			return
		}
		if err != nil || !slices.Equal(got["z"], wrapped) {
			t.Fatalf("%v, not %v: %v", got["z"], wrapped, err)
		}
	})
}

// Runs refuse integers that float64 does not hold, what is no number where an integer is
// wanted, and a cast to an integer type of 32 or 64 bits that does not hold the numbers.
func TestIntegersOfRuns(t *testing.T) {
	b := NewBuilder("integers")
	x, y := b.Input("x", Int64, []int{1}), b.Input("y", Float, []int{1})
	b.At("Cast", "narrower")
	b.Output("z", b.Cast(x, Uint32))
	b.At("Cast", "of a root")
	b.Output("w", b.Cast(b.Apply(Sqrt, y), Int32))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		x, y float64
		want string
	}{
		{7, 16, ""}, {-1, 16, "narrower"}, {1 << 33, 16, "narrower"}, {math.Ldexp(1, 54), 16, "exact within"}, {7, -1, "no integer stands"},
	} {
		got, err := g.RunFloat([][]float64{{c.x}, {c.y}})
		switch {
		case c.want == "" && (err != nil || got["z"][0] != c.x || got["w"][0] != 4):
			t.Errorf("%v, %v: %v, %v", c.x, c.y, got, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%v, %v: error %v, want %q", c.x, c.y, err, c.want)
		}
	}
}

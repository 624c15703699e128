package graph

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

var (
	nan = math.NaN()
	inf = math.Inf(1)
)

// sameNumber compares numbers of which NaN is one.
func sameNumber(a, b float64) bool { return a == b || a != a && b != b }

// TestExtended computes with NaN and infinities, on two inputs of all numbers and one of
// finite ones, as the IEEE's rules have it.
func TestExtended(t *testing.T) {
	const n = 6
	numbers := []float64{nan, inf, -inf, 0, 1, -1, 2.5, -300, 1e6, 0.07}
	each := func(f func(x, y, z float64) float64) func(v [3][]float64) []float64 {
		return func(v [3][]float64) []float64 {
			out := make([]float64, n)
			for i := range out {
				out[i] = f(v[0][i], v[1][i], v[2][i])
			}
			return out
		}
	}
	truth := func(f func(x, y float64) bool) func(v [3][]float64) []float64 {
		return each(func(x, y, _ float64) float64 { return indicator(f(x, y)) })
	}
	small := func(to DType, saturate bool) func(x, _, _ float64) float64 {
		f := smallFormats[to]
		limit, itself := f.beyond()
		return func(x, _, _ float64) float64 {
			switch over := math.Abs(x) > limit || itself && math.Abs(x) == limit; {
			case x != x && to == Float4E2M1:
				return 0
			case x != x:
				return x
			case over && !saturate && f.infinite:
				return math.Copysign(inf, x)
			case over && !saturate:
				return nan
			case math.IsInf(x, 0):
				return math.Copysign(f.most, x)
			}
			return f.at(x)
		}
	}
	whole := func(v Value, b *Builder) Value { return b.Reshape(v, []int{n}) }
	for name, c := range map[string]struct {
		build func(b *Builder, x, y, z Value) Value
		want  func(v [3][]float64) []float64
	}{
		"identity": {func(b *Builder, x, y, z Value) Value { return x }, each(func(x, _, _ float64) float64 { return x })},
		"add":      {func(b *Builder, x, y, z Value) Value { return b.Add(x, y) }, each(func(x, y, _ float64) float64 { return x + y })},
		"sub":      {func(b *Builder, x, y, z Value) Value { return b.Sub(x, y) }, each(func(x, y, _ float64) float64 { return x - y })},
		"sub from": {func(b *Builder, x, y, z Value) Value { return b.Sub(z, y) }, each(func(_, y, z float64) float64 { return z - y })},
		"neg":      {func(b *Builder, x, y, z Value) Value { return b.Negative(x) }, each(func(x, _, _ float64) float64 { return -x })},
		"abs":      {func(b *Builder, x, y, z Value) Value { return b.Apply(Abs, x) }, each(func(x, _, _ float64) float64 { return math.Abs(x) })},
		"max": {func(b *Builder, x, y, z Value) Value { return b.Max(x, y) }, each(func(x, y, _ float64) float64 {
			return max(x, y)
		})},
		"min": {func(b *Builder, x, y, z Value) Value { return b.Min(z, b.Min(x, y)) }, each(func(x, y, z float64) float64 {
			return min(x, y, z)
		})},
		"where": {func(b *Builder, x, y, z Value) Value { return b.Where(b.Compare(Less, x, z), y, x) }, each(func(x, y, z float64) float64 {
			if x < z {
				return y
			}
			return x
		})},
		"where not": {func(b *Builder, x, y, z Value) Value { return b.Where(b.IsNaN(x), z, x) }, each(func(x, _, z float64) float64 {
			if x != x {
				return z
			}
			return x
		})},
		"infinite constants": {func(b *Builder, x, y, z Value) Value {
			c := b.Constant("c", &Tensor{Shape: []int{n}, DType: Float, F32: []float32{0, float32(nan), float32(inf), float32(-inf), 1, -2}})
			return b.Add(b.Max(x, c), c)
		}, func(v [3][]float64) []float64 {
			out := []float64{0, nan, inf, -inf, 1, -2}
			for i, c := range out {
				out[i] = max(v[0][i], c) + c
			}
			return out
		}},
		"less":            {func(b *Builder, x, y, z Value) Value { return b.Compare(Less, x, y) }, truth(func(x, y float64) bool { return x < y })},
		"less or equal":   {func(b *Builder, x, y, z Value) Value { return b.Compare(LessOrEqual, x, y) }, truth(func(x, y float64) bool { return x <= y })},
		"greater":         {func(b *Builder, x, y, z Value) Value { return b.Compare(Greater, x, y) }, truth(func(x, y float64) bool { return x > y })},
		"greater, equal":  {func(b *Builder, x, y, z Value) Value { return b.Compare(GreaterOrEqual, x, y) }, truth(func(x, y float64) bool { return x >= y })},
		"equal":           {func(b *Builder, x, y, z Value) Value { return b.Compare(Equal, x, y) }, truth(func(x, y float64) bool { return x == y })},
		"equal to itself": {func(b *Builder, x, y, z Value) Value { return b.Compare(Equal, x, x) }, truth(func(x, _ float64) bool { return x == x })},
		"where neither NaN nor infinite": {func(b *Builder, x, y, z Value) Value {
			return b.Mul(b.Where(b.Compare(Or, b.IsInf(x, true, true), b.IsNaN(x)), z, x), z)
		}, each(func(x, _, z float64) float64 {
			if x-x != 0 {
				x = z
			}
			return x * z
		})},
		"is NaN":      {func(b *Builder, x, y, z Value) Value { return b.IsNaN(b.Add(x, y)) }, truth(func(x, y float64) bool { return x+y != x+y })},
		"is +∞":       {func(b *Builder, x, y, z Value) Value { return b.IsInf(b.Sub(x, y), true, false) }, truth(func(x, y float64) bool { return x-y == inf })},
		"is infinite": {func(b *Builder, x, y, z Value) Value { return b.IsInf(x, true, true) }, truth(func(x, _ float64) bool { return math.IsInf(x, 0) })},
		"bool":        {func(b *Builder, x, y, z Value) Value { return b.Cast(x, Bool) }, truth(func(x, _ float64) bool { return x != 0 })},
		"moved": {func(b *Builder, x, y, z Value) Value {
			w := b.Concat(0, b.SliceAxis(x, 0, n-1, -1, n), z)
			return b.Add(whole(b.SliceAxis(b.Pad(w, []int{1}, []int{0}, 7), 0, 0, 1, n), b), y)
		}, func(v [3][]float64) []float64 {
			out := append([]float64{7}, v[0]...)
			slices.Reverse(out[1:])
			out = out[:n]
			for i := range out {
				out[i] += v[1][i]
			}
			return out
		}},
		"greatest": {func(b *Builder, x, y, z Value) Value {
			return b.Expand(b.ReduceMax(b.Add(x, b.Min(y, z)), []int{0}, true), []int{n})
		}, func(v [3][]float64) []float64 {
			top := -inf
			for i := range n {
				top = max(top, v[0][i]+min(v[1][i], v[2][i]))
			}
			return slices.Repeat([]float64{top}, n)
		}},
		"least": {func(b *Builder, x, y, z Value) Value {
			return b.Expand(b.ReduceMin(x, []int{0}, true), []int{n})
		}, func(v [3][]float64) []float64 { return slices.Repeat([]float64{slices.Min(v[0])}, n) }},
		"mod": {func(b *Builder, x, y, z Value) Value { return b.Mod(x, y, false) }, each(func(x, y, _ float64) float64 {
			switch r := math.Mod(x, y); {
			case r != 0 && math.Signbit(r) != math.Signbit(y):
				return r + y
			default:
				return r + 0
			}
		})},
		"exceeds": {func(b *Builder, x, y, z Value) Value {
			var splits []Split
			for i := range n {
				splits = append(splits, Split{Feature: i, Value: 0.5 * float32(i), OrEqual: i%2 == 0})
			}
			return whole(b.Exceeds(b.Reshape(x, []int{1, n}), splits), b)
		}, func(v [3][]float64) []float64 {
			out := make([]float64, n)
			for i, x := range v[0] {
				out[i] = indicator(x > 0.5*float64(i) || i%2 == 0 && x == 0.5*float64(i))
			}
			return out
		}},
		"e4m3fn":           {func(b *Builder, x, y, z Value) Value { return b.Cast(x, Float8E4M3FN) }, each(small(Float8E4M3FN, true))},
		"e4m3fnuz, beyond": {func(b *Builder, x, y, z Value) Value { return b.CastTo(x, Float8E4M3FNUZ, false) }, each(small(Float8E4M3FNUZ, false))},
		"e5m2, beyond":     {func(b *Builder, x, y, z Value) Value { return b.CastTo(x, Float8E5M2, false) }, each(small(Float8E5M2, false))},
		"e5m2 of finite": {func(b *Builder, x, y, z Value) Value { return b.CastTo(z, Float8E5M2, false) },
			each(func(_, _, z float64) float64 { return small(Float8E5M2, false)(z, 0, 0) })},
		"e2m1": {func(b *Builder, x, y, z Value) Value { return b.Cast(x, Float4E2M1) }, each(small(Float4E2M1, true))},
	} {
		t.Run(name, func(t *testing.T) {
			b := NewBuilder("test")
			shape := []int{n}
			x, y := b.ExtendedInput("x", Float, AllNumbers, shape), b.ExtendedInput("y", Float, AllNumbers, shape)
			b.Output("v", c.build(b, x, y, b.Input("z", Float, shape)))
			g, err := b.Graph()
			if err == nil {
				err = g.Validate()
			}
			if err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(11, 12))
			for range 50 {
				var in [3][]float64
				for k := range in {
					for range n {
						v := numbers[rng.IntN(len(numbers))]
						for k == 2 && v-v != 0 {
							v = numbers[rng.IntN(len(numbers))]
						}
						in[k] = append(in[k], v)
					}
				}
				run, err := g.RunFloat(in[:])
				if err != nil {
					t.Fatal(err)
				}
				for i, want := range c.want(in) {
					if got := run["v"][i]; !sameNumber(got, want) && !(math.Abs(got-want) <= 1e-9*math.Abs(want)) {
						t.Fatalf("entry %d of %v is %v, not %v", i, in, got, want)
					}
				}
			}
		})
	}
}

// TestNotExtended: what is found to be finite is not an output with codes, and what masks
// scores is as it was for those who do not ask.
func TestNotExtended(t *testing.T) {
	b := NewBuilder("test")
	x := b.ExtendedInput("x", Float, AllNumbers, []int{4})
	b.Output("finite", b.Where(b.IsInf(x, true, true), b.Number(0), b.Where(b.IsNaN(x), b.Number(0), x)))
	z := b.Input("z", Float, []int{2, 4})
	mask := b.Constant("mask", &Tensor{Shape: []int{4}, DType: Float, F32: []float32{0, float32(-inf), 0, float32(-inf)}})
	b.Output("weights", b.Softmax(b.Add(z, mask), 1))
	b.Output("scores", b.Add(z, mask))
	g, err := b.Graph()
	if err == nil {
		err = g.Validate()
	}
	if err != nil {
		t.Fatal(err)
	}
	if g.Extended("finite") || !g.Extended("scores") || g.Extended("weights") || !g.Extended("x") || g.Extended("z") {
		t.Error("other outputs are extended")
	}
	run, err := g.RunFloat([][]float64{{nan, inf, 3, -inf}, {1, 2, 3, 4, 5, 6, 7, 8}})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{1, -inf, 3, -inf, 5, -inf, 7, -inf} {
		if run["scores"][i] != want || want < 0 != (run["weights"][i] == 0) {
			t.Errorf("score %d is %v, with the weight %v", i, run["scores"][i], run["weights"][i])
		}
	}
	if !slices.Equal(run["finite"], []float64{0, 0, 3, 0}) {
		t.Errorf("what is finite of x is %v", run["finite"])
	}
}

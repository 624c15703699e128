package graph

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPartial computes with powers that are not defined everywhere, as IEEE 754 has it
// where that has a meaning, and with 0 in their place elsewhere.
func TestPartial(t *testing.T) {
	const n = 6
	numbers := []float64{0, 1, -1, 2.5, -3, 4, 0.5, -0.5, -2}
	zeroed := func(p float64) float64 {
		if p-p != 0 {
			return 0
		}
		return p
	}
	for name, c := range map[string]struct {
		build    func(b *Builder, p, x, e Value) Value
		want     func(p, x, e float64) float64 // of a power p
		extended bool
	}{
		"power": {func(b *Builder, p, x, e Value) Value { return p }, func(p, x, e float64) float64 { return p }, true},
		"sum": {func(b *Builder, p, x, e Value) Value {
			return b.Sub(b.Add(x, b.Transpose(b.Transpose(p, []int{1, 0}), []int{1, 0})), p)
		},
			func(p, x, e float64) float64 { return p + x - p }, true},
		"is NaN":  {func(b *Builder, p, x, e Value) Value { return b.IsNaN(p) }, func(p, x, e float64) float64 { return indicator(p != p) }, false},
		"is +∞":   {func(b *Builder, p, x, e Value) Value { return b.IsInf(p, true, true) }, func(p, x, e float64) float64 { return indicator(p == inf) }, false},
		"bool":    {func(b *Builder, p, x, e Value) Value { return b.Cast(p, Bool) }, func(p, x, e float64) float64 { return indicator(p != 0) }, false},
		"greater": {func(b *Builder, p, x, e Value) Value { return b.Compare(Greater, p, x) }, func(p, x, e float64) float64 { return indicator(p > x) }, false},
		"at most": {func(b *Builder, p, x, e Value) Value { return b.Compare(LessOrEqual, p, e) }, func(p, x, e float64) float64 { return indicator(p <= e) }, false},
		"max":     {func(b *Builder, p, x, e Value) Value { return b.Max(p, x) }, func(p, x, e float64) float64 { return max(p, x) }, true},
		"min":     {func(b *Builder, p, x, e Value) Value { return b.Min(x, p) }, func(p, x, e float64) float64 { return min(x, p) }, true},
		"chosen": {func(b *Builder, p, x, e Value) Value { return b.Where(b.Compare(Greater, x, e), p, e) }, func(p, x, e float64) float64 {
			if x > e {
				return p
			}
			return e
		}, true},
		"replaced": {func(b *Builder, p, x, e Value) Value {
			return b.Where(b.IsInf(p, true, false), b.Number(7), b.Where(b.IsNaN(p), x, p))
		}, func(p, x, e float64) float64 {
			switch {
			case p != p:
				return x
			case p == inf:
				return 7
			}
			return p
		}, false},
		"masked": {func(b *Builder, p, x, e Value) Value {
			return b.Where(b.Compare(Greater, x, e), p, b.Constant("low", &Tensor{Shape: []int{}, DType: Float, F32: []float32{float32(-inf)}}))
		}, func(p, x, e float64) float64 {
			if x > e {
				return p
			}
			return -inf
		}, true},
		// What has no meaning for them.
		"product": {func(b *Builder, p, x, e Value) Value { return b.Mul(p, x) }, func(p, x, e float64) float64 { return zeroed(p) * x }, false},
		"of chosen": {func(b *Builder, p, x, e Value) Value {
			return b.Mul(b.Max(b.Where(b.Compare(Greater, x, e), p, e), b.Add(p, x)), x)
		}, nil, false},
		"integer": {func(b *Builder, p, x, e Value) Value { return b.Cast(p, Int32) }, nil, false},
		"modulo":  {func(b *Builder, p, x, e Value) Value { return b.Mod(p, b.Number(2), false) }, nil, false},
		"weights": {func(b *Builder, p, x, e Value) Value { return b.Softmax(p, 1) }, nil, false},
		"masked weights": {func(b *Builder, p, x, e Value) Value {
			mask := b.Constant("mask", &Tensor{Shape: []int{3}, DType: Float, F32: []float32{0, float32(-inf), 0}})
			return b.Softmax(b.Add(p, mask), 1)
		}, nil, false},
		"small": {func(b *Builder, p, x, e Value) Value { return b.Mul(b.Cast(p, Float8E4M3FN), x) }, nil, false},
		// Powers of what is defined everywhere.
		"of sizes":    {func(b *Builder, p, x, e Value) Value { return b.Pow(b.Apply(Exp, x), e) }, func(p, x, e float64) float64 { return math.Pow(math.Exp(x), e) }, false},
		"to naturals": {func(b *Builder, p, x, e Value) Value { return b.Pow(x, b.Cast(b.Apply(Relu, e), Uint8)) }, func(p, x, e float64) float64 { return math.Pow(x, math.Trunc(max(e, 0))) }, false},
		"to integers": {func(b *Builder, p, x, e Value) Value { return b.Pow(x, b.Cast(e, Int32)) }, func(p, x, e float64) float64 { return math.Pow(x, math.Trunc(e)) }, true},
		"of constants": {func(b *Builder, p, x, e Value) Value {
			return b.Pow(b.Constant("c", &Tensor{Shape: []int{3}, DType: Float, F32: []float32{1, -1, 2}}), e)
		}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := NewBuilder("test")
			x, e := b.Input("x", Float, []int{2, 3}), b.Input("e", Float, []int{2, 3})
			b.Output("v", c.build(b, b.Pow(x, e), x, e))
			g, err := b.Graph()
			if err == nil {
				err = g.Validate()
			}
			if err != nil {
				t.Fatal(err)
			}
			if g.Extended("v") != c.extended {
				t.Errorf("the output is extended: %v", !c.extended)
			}
			rng := rand.New(rand.NewPCG(13, 14))
			for range 50 {
				in := make([][]float64, 2)
				for k := range in {
					for range n {
						in[k] = append(in[k], numbers[rng.IntN(len(numbers))])
					}
				}
				run, err := g.RunFloat(in)
				if err != nil {
					t.Fatal(err)
				}
				if c.want == nil {
					if slices.ContainsFunc(run["v"], func(v float64) bool { return v-v != 0 }) && !c.extended {
						t.Errorf("%v of %v", run["v"], in)
					}
					continue
				}
				for i, got := range run["v"] {
					x, e := in[0][i], in[1][i]
					want := c.want(math.Pow(x, e), x, e)
					if !sameNumber(got, want) && !(math.Abs(got-want) <= 1e-9*max(1, math.Abs(want))) {
						t.Fatalf("of %v and %v it is %v, not %v", x, e, got, want)
					}
				}
			}
		})
	}
}

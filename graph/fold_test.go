package graph

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Products and sums with a number for each channel, or one for all, go into the Conv or
// Gemm before them, unless something else reads what that computes; the results stay.
func TestFoldChannels(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(b *Builder, shape ...int) Value {
		v := make([]float32, Size(shape))
		for i := range v {
			v[i] = float32(rng.NormFloat64())
		}
		return b.Constant("", &Tensor{Shape: shape, DType: Float, F32: v})
	}
	conv := func(b *Builder, x Value, channels int, bias bool) Value {
		in := []Value{}
		if bias {
			in = append(in, random(b, channels))
		}
		return b.Conv(Conv{Window: Window{Kernel: []int{1, 1}, Strides: []int{1, 1}, Dilations: []int{1, 1}, Begin: []int{0, 0}, End: []int{0, 0}}, Group: 1},
			x, random(b, channels, 3, 1, 1), in...)
	}
	for name, c := range map[string]struct {
		shape []int
		build func(b *Builder, x Value) Value
		nodes int
	}{
		"scalar and channels": {[]int{2, 3, 4, 4}, func(b *Builder, x Value) Value {
			return b.Sub(b.Add(b.Mul(random(b, 1), conv(b, x, 5, true)), random(b, 5, 1, 1)), random(b, 1, 5, 1, 1))
		}, 1},
		"no bias":            {[]int{2, 3, 4, 4}, func(b *Builder, x Value) Value { return b.Mul(conv(b, x, 5, false), random(b, 1, 5, 1, 1)) }, 1},
		"another axis":       {[]int{2, 3, 4, 4}, func(b *Builder, x Value) Value { return b.Mul(conv(b, x, 4, true), random(b, 4)) }, 2},
		"a constant less it": {[]int{2, 3, 4, 4}, func(b *Builder, x Value) Value { return b.Sub(random(b, 1), conv(b, x, 4, true)) }, 2},
		"read twice": {[]int{2, 3, 4, 4}, func(b *Builder, x Value) Value {
			y := conv(b, x, 4, true)
			return b.Mul(y, b.Mul(y, random(b, 1)))
		}, 3},
		"gemm": {[]int{6, 3}, func(b *Builder, x Value) Value {
			return b.Add(b.Mul(b.Gemm(Gemm{Alpha: 0.5, Beta: 3}, x, random(b, 3, 7), random(b, 7)), random(b, 7)), random(b, 1, 7))
		}, 1},
		"gemm without its bias": {[]int{6, 3}, func(b *Builder, x Value) Value {
			return b.Add(b.Gemm(Gemm{TransB: true, Alpha: 0.5}, x, random(b, 7, 3), random(b, 7)), random(b, 7))
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(fold bool) []float64 {
				rng = rand.New(rand.NewPCG(3, 4))
				b := NewBuilder("fold")
				x := b.Input("x", Float, c.shape)
				y := c.build(b, x)
				b.Output("y", y)
				if !fold { // each value is one that somebody else wants
					for i, n := range b.nodes {
						b.Output(string(rune('a'+i)), Value{n.out})
					}
				}
				g, err := b.Graph()
				if err != nil {
					t.Fatal(err)
				}
				if fold && len(g.Nodes) != c.nodes {
					t.Errorf("%d nodes instead of %d", len(g.Nodes), c.nodes)
				}
				in := make([]float64, Size(c.shape))
				for i := range in {
					in[i] = float64(float32(rng.NormFloat64()))
				}
				values, err := g.RunFloat([][]float64{in})
				if err != nil {
					t.Fatal(err)
				}
				return values["y"]
			}
			folded, plain := run(true), run(false)
			for i := range plain {
				if math.Abs(folded[i]-plain[i]) > 1e-5 {
					t.Fatalf("entry %d is %g instead of %g", i, folded[i], plain[i])
				}
			}
		})
	}
}

package graph

import (
	"math"
	"testing"
)

// Factors that differ much between channels go to where they meet others, whatever is between, and
// what the graph computes stays; others stay where they are.
func TestChannelsAreEvened(t *testing.T) {
	const rows, width = 3, 4
	sizes := []float32{1e5, 1, 3e-4, 20}
	x := []float64{1.5, -2, 3, 0.25, -1, 4, 0.5, -3, 2, 1, -0.5, 6}
	vector := func(b *Builder, by float32) Value {
		v := make([]float32, width)
		for i := range v {
			v[i] = by * sizes[i]
		}
		return b.Table(&Tensor{Shape: []int{width}, DType: Float, F32: v})
	}
	matrix := func(b *Builder, at func(row int) float32) Value {
		w := make([]float32, width*2)
		for i := range w {
			w[i] = float32(i%3-1) + 0.5
			w[i] *= at(i / 2)
		}
		return b.Table(&Tensor{Shape: []int{width, 2}, DType: Float, F32: w})
	}
	small := func(row int) float32 { return 1 / sizes[row] }
	for name, c := range map[string]struct {
		build func(b *Builder, x Value) Value
		is    bool
	}{
		"factors of each other": {func(b *Builder, x Value) Value {
			y := b.Apply(Exp, x)
			return b.Div(b.Apply(LeakyRelu, b.Mul(y, vector(b, 1)), 0.1), vector(b, 1))
		}, true},
		"with a shift": {func(b *Builder, x Value) Value {
			y := b.Add(b.Mul(b.Apply(Exp, x), vector(b, 1)), vector(b, 2))
			return b.Div(b.Sub(y, b.Reduce(Mean, y, []int{0}, true)), vector(b, 3))
		}, true},
		"weights": {func(b *Builder, x Value) Value {
			return b.MatMul(b.Apply(Abs, b.Mul(b.Apply(Exp, x), vector(b, 1))), matrix(b, small))
		}, true},
		"weights of an input": {func(b *Builder, x Value) Value { return b.MatMul(b.Apply(Relu, x), matrix(b, small)) }, true},
		"an input as it is":   {func(b *Builder, x Value) Value { return b.Div(b.Sub(x, vector(b, 1)), vector(b, 1)) }, false},
		"not homogeneous":     {func(b *Builder, x Value) Value { return b.Div(b.Apply(Tanh, b.Mul(x, vector(b, 1))), vector(b, 1)) }, false},
		"of both signs":       {func(b *Builder, x Value) Value { return b.Div(b.Apply(Abs, b.Mul(x, vector(b, 1))), vector(b, -1)) }, false},
		"of one size": {func(b *Builder, x Value) Value {
			return b.MatMul(b.Apply(Relu, x), matrix(b, func(int) float32 { return 1 }))
		}, false},
		"along the summed axis": {func(b *Builder, x Value) Value {
			return b.Mul(b.Reduce(Sum, b.Apply(Abs, x), []int{1}, true), vector(b, 1))
		}, false},
		"nothing to go to":       {func(b *Builder, x Value) Value { return b.Mul(b.Apply(Abs, b.Apply(Exp, x)), vector(b, 1)) }, false},
		"weights of dead inputs": {func(b *Builder, x Value) Value { return b.MatMul(b.Apply(Abs, b.Apply(Exp, x)), matrix(b, small)) }, false},
	} {
		g, got, want := written(t, []int{rows, width}, x, c.build)
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-5*(1+math.Abs(want[i])) {
				t.Errorf("%s: entry %d is %v, not %v", name, i, got[i], want[i])
			}
		}
		even := true // no value has channels of different sizes
		last := g.Nodes[len(g.Nodes)-1]
		for _, in := range last.Inputs {
			if v := g.Consts[in]; v != nil && (last.Op == Mul || last.Op == Div || v.Len() == 2*width) {
				lo, hi := math.Inf(1), 0.0
				for i := range v.Len() {
					lo, hi = math.Min(lo, math.Abs(v.At(i))), math.Max(hi, math.Abs(v.At(i)))
				}
				even = hi < apart*lo
			}
		}
		if name != "of one size" && even != c.is {
			t.Errorf("%s: %v", name, g.Nodes)
		}
	}
}

package graph

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/internal/refuse"
)

// MaxPool is the greatest element of each window. Padding does not count.
type MaxPool struct{ Window }

func (p MaxPool) infer(in []operandType) operandType {
	t := p.Window.infer(in)
	// Every window must contain an element of the input.
	for i, n := range t.shape[2:] {
		for j := range n {
			refuse.If(p.overlap(i, j, 0, in[0].shape[2+i]) == 0,
				"its window at %d of spatial axis %d is all padding", j, i)
		}
	}
	return t
}

func (p MaxPool) eval(in []operand, shape []int) operand {
	out := p.pool(in[0], shape, math.Inf(-1), larger)
	return operand{shape: shape, f: out}
}

// MaxPool is the greatest element of each window of x, of shape (N, C, [H,] W).
func (b *Builder) MaxPool(x Value, w Window) Value { return b.emit(MaxPool{w}, x) }

// AveragePool is the sum of each window, padding (zeros) included, divided by the number
// of kernel positions.
type AveragePool struct{ Window }

func (p AveragePool) eval(in []operand, shape []int) operand {
	out := p.pool(in[0], shape, 0, sum)
	area := Size(p.Kernel)
	for i := range out {
		out[i] /= float64(area)
	}
	return operand{shape: shape, f: out}
}

// AveragePool is the sum of each window of x, of shape (N, C, [H,] W), divided by
// the number of its positions that fall within [lo, hi) of each spatial axis. Every
// window must have at least one such position.
func (b *Builder) AveragePool(x Value, w Window, lo, hi []int) (result Value) {
	defer b.refused(&result)
	y := b.emit(AveragePool{w}, x)
	b.need(y)
	out := b.Shape(y)[2:]
	refuse.If(len(lo) != len(out) || len(hi) != len(out), "bounds %v and %v for %d spatial axes", lo, hi, len(out))
	b.needRoom(out...)
	// The number of positions that count is a product over the axes, and so is the factor
	// that corrects AveragePool, which divides by the size of the kernel.
	factors := make([][]float64, len(out))
	uniform := true
	for i, n := range out {
		for j := range n {
			c := w.overlap(i, j, lo[i], hi[i])
			refuse.If(c == 0, "its window at %d of spatial axis %d is all padding", j, i)
			uniform = uniform && c == w.Kernel[i]
			factors[i] = append(factors[i], float64(w.Kernel[i])/float64(c))
		}
	}
	if uniform {
		return y
	}
	strides := Strides(out)
	correction := filled(Size(out), func(at int) float32 {
		v := 1.0
		for i, f := range factors {
			v *= f[at/strides[i]%out[i]]
		}
		return float32(v)
	})
	return b.Mul(y, b.made("correction", &Tensor{Shape: append([]int{1, 1}, out...), DType: Float, F32: correction, Public: true}))
}

// infer is the shape rule of pooling.
func (w Window) infer(in []operandType) operandType {
	s := in[0].shape
	refuse.If(!in[0].dtype.IsFloat(), "its input has type %v", in[0].dtype)
	refuse.If(len(s) < 3 || len(s) > 4, "its input has shape %v; one or two spatial axes are supported", s)
	return operandType{shape: append(slices.Clone(s[:2]), w.outputs(s[2:])...), dtype: Float}
}

// pool combines the elements of each window of each channel by step, starting from start.
func (w Window) pool(x operand, shape []int, start float64, step func(a, b float64) float64) []float64 {
	in := x.float64s()
	w = w.plane()
	ih, iw := plane(x.shape)
	oh, ow := plane(shape)
	out := make([]float64, Size(shape))
	parallel.For(shape[0]*shape[1], 1, func(lo, hi int) {
		for c := lo; c < hi; c++ {
			dst, src := out[c*oh*ow:(c+1)*oh*ow], in[c*ih*iw:(c+1)*ih*iw]
			for i := range dst {
				dst[i] = start
			}
			w.eachTap(ih, iw, oh, ow, func(oy, iy, ox, ix, count int) {
				for j := range count {
					d := &dst[oy*ow+ox+j]
					*d = step(*d, src[iy*iw+ix+j*w.Strides[1]])
				}
			})
		}
	})
	return out
}

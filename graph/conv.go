package graph

import (
	"slices"

	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/matmul"
)

// Conv convolves x of shape (N, C, [H,] W) with weights of shape
// (M, C/Group, kernel…), and adds the optional bias of shape (M).
type Conv struct {
	Window
	Group int // divides C and M
}

func (Conv) takes() operands { return operands{2, 3, floats} }

func (c Conv) infer(in []operandType) operandType {
	x, w := in[0].shape, in[1].shape
	refuse.If(len(x) < 3 || len(x) > 4 || len(w) != len(x),
		"input and weights have shapes %v and %v; one or two spatial axes are supported", x, w)
	refuse.If(!slices.Equal(c.Kernel, w[2:]), "a kernel of %v, but the weights have shape %v", c.Kernel, w)
	if g := c.Group; g < 1 || g > x[1] || x[1]%g != 0 || w[1] != x[1]/g || w[0]%g != 0 {
		refuse.With("weights of shape %v in %d groups do not fit an input of shape %v", w, g, x)
	}
	out := c.outputs(x[2:])
	if len(in) > 2 && !slices.Equal(in[2].shape, w[:1]) {
		refuse.With("bias of shape %v for weights of shape %v", in[2].shape, w)
	}
	padded := slices.Clone(x[:2])
	for i, d := range x[2:] {
		padded = append(padded, max(c.Begin[i]+d, c.reach(i, out[i])))
	}
	err := checkInts(padded)
	refuse.If(err != nil || Size(padded) > 4*MaxActivations, "its padded input of shape %v is too large", padded)
	return operandType{shape: append([]int{x[0], w[0]}, out...), dtype: Float}
}

// reach is the length of input, padding included, that the windows of outs outputs cover
// along a spatial axis.
func (w Window) reach(axis, outs int) int {
	return (outs-1)*w.Strides[axis] + (w.Kernel[axis]-1)*w.Dilations[axis] + 1
}

// eval convolves over two spatial axes. A single axis is treated as two (see
// Window.plane).
func (c Conv) eval(in []operand, shape []int) operand {
	if in[1].w != nil {
		return operand{shape: shape, f: convolve(c, in, in[1].w, shape)}
	}
	return operand{shape: shape, f: convolve(c, in, in[1].float64s(), shape)}
}

// convolve computes, for each image and group, a matrix product of the group's weights
// and its windows. The windows are not copied out of the padded input: tables of offsets
// say where their elements are.
func convolve[W float32 | float64](c Conv, in []operand, w []W, shape []int) []float64 {
	g := c.Window.plane()
	oh, ow := plane(shape)
	images, channels, outs := shape[0], in[0].shape[1], shape[1]
	perGroup, outsPerGroup := channels/c.Group, outs/c.Group
	area, plane := g.Kernel[0]*g.Kernel[1], oh*ow
	x, ph, pw := g.padded(in[0], oh, ow)
	weights := matmul.Operand[W]{
		Data: w, Free: index(outsPerGroup, perGroup*area), K: index(perGroup*area, 1), Out: index(outsPerGroup, plane),
	}
	windows := matmul.Operand[float64]{Data: x, Out: index(plane, 1)}
	for oy := range oh {
		for ox := range ow {
			windows.Free = append(windows.Free, oy*g.Strides[0]*pw+ox*g.Strides[1])
		}
	}
	for c := range perGroup {
		for ky := range g.Kernel[0] {
			for kx := range g.Kernel[1] {
				windows.K = append(windows.K, (c*ph+ky*g.Dilations[0])*pw+kx*g.Dilations[1])
			}
		}
	}
	for b := range images {
		for i := range c.Group {
			weights.Batch = append(weights.Batch, i*outsPerGroup*perGroup*area)
			windows.Batch = append(windows.Batch, (b*channels+i*perGroup)*ph*pw)
		}
	}
	out := make([]float64, Size(shape))
	if len(in) > 2 {
		bias := in[2].float64s()
		for i := range out {
			out[i] = bias[i/plane%outs]
		}
	}
	matmul.Float(out, index(images*c.Group, outsPerGroup*plane), weights, windows)
	return out
}

// padded returns the planes of x, surrounded by the zeros that the windows of oh×ow
// outputs cover, and the height and width of the result. The window has two axes.
func (w Window) padded(x operand, oh, ow int) (data []float64, ph, pw int) {
	ih, iw := plane(x.shape)
	ph, pw = max(w.Begin[0]+ih, w.reach(0, oh)), max(w.Begin[1]+iw, w.reach(1, ow))
	src := x.float64s()
	if ph == ih && pw == iw {
		return src, ph, pw
	}
	data = make([]float64, Size(x.shape[:2])*ph*pw)
	for r := range Size(x.shape[:2]) * ih {
		at := (r/ih*ph+w.Begin[0]+r%ih)*pw + w.Begin[1]
		copy(data[at:at+iw], src[r*iw:])
	}
	return data, ph, pw
}

// Conv convolves x with weights w and adds the bias, if there is one.
func (b *Builder) Conv(c Conv, x, w Value, bias ...Value) Value {
	return b.emit(c, append([]Value{x, w}, bias...)...)
}

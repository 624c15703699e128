package graph

import "github.com/prove-model/prove-model/internal/refuse"

// Window says how a kernel moves over one or two spatial axes; every list has one entry
// for each axis. Output j of an axis reads the inputs j·stride + t·dilation − begin for 0
// ≤ t < kernel; those beyond the input are padding.
type Window struct {
	Kernel, Strides, Dilations []int // at least 1
	Begin, End                 []int // padding before and after, not negative
}

// maxStep bounds the entries of a window, so that products of two do not
// overflow.
const maxStep = 1 << 30

// outputs returns the number of outputs along each spatial axis.
func (w Window) outputs(in []int) []int {
	n := len(in)
	out := make([]int, n)
	for _, list := range [][]int{w.Kernel, w.Strides, w.Dilations, w.Begin, w.End} {
		refuse.If(len(list) != n, "its window %v does not have an entry for each of %d spatial axes", list, n)
	}
	for i, d := range in {
		refuse.If(min(w.Kernel[i], w.Strides[i], w.Dilations[i]) < 1 || max(w.Kernel[i], w.Strides[i], w.Dilations[i]) > maxStep,
			"kernel %v, strides %v, dilations %v", w.Kernel, w.Strides, w.Dilations)
		reach := (w.Kernel[i]-1)*w.Dilations[i] + 1
		refuse.If(min(w.Begin[i], w.End[i]) < 0 || max(w.Begin[i], w.End[i]) > max(reach, 2*maxStep),
			"pads %v and %v", w.Begin, w.End)
		free := d + w.Begin[i] + w.End[i] - reach
		refuse.If(free < 0, "a kernel of reach %d is larger than its padded input, %d", reach, d+w.Begin[i]+w.End[i])
		out[i] = free/w.Strides[i] + 1
		refuse.If(out[i] > MaxActivations, "%d outputs along a spatial axis are too many", out[i])
	}
	return out
}

// overlap returns how many of the kernel's positions at output j of axis i have an input
// index in [lo, hi).
func (w Window) overlap(i, j, lo, hi int) int {
	first := j*w.Strides[i] - w.Begin[i]
	// Positions are first + t·dilation; count t with lo ≤ position < hi.
	d := w.Dilations[i]
	from := max(ceilDiv(lo-first, d), 0)
	to := min(ceilDiv(hi-first, d), w.Kernel[i])
	return max(to-from, 0)
}

// ceilDiv returns ⌈a/b⌉ for b > 0.
func ceilDiv(a, b int) int {
	q := a / b
	if a%b > 0 {
		q++
	}
	return q
}

// plane returns the two spatial sizes of (N, C, [H,] W).
func plane(shape []int) (h, w int) {
	if len(shape) == 3 {
		return 1, shape[2]
	}
	return shape[2], shape[3]
}

// plane returns the window over two axes: one over a single axis gets a first axis with a
// kernel of 1.
func (w Window) plane() Window {
	if len(w.Kernel) == 2 {
		return w
	}
	two := func(first int, v []int) []int { return []int{first, v[0]} }
	return Window{two(1, w.Kernel), two(1, w.Strides), two(1, w.Dilations), two(0, w.Begin), two(0, w.End)}
}

// span returns the range from ≤ j < to of the outputs, of outs, along axis a whose kernel
// position tap reads an element of an input of length n, not padding.
func (w Window) span(a, tap, n, outs int) (from, to int) {
	off := tap*w.Dilations[a] - w.Begin[a] // input index is j·stride + off
	from = max(ceilDiv(-off, w.Strides[a]), 0)
	to = min(ceilDiv(n-off, w.Strides[a]), outs)
	return from, max(to, from)
}

// eachTap calls f for each kernel position and each output row in which the position
// reads elements of the input. The outputs (oy, ox), …, (oy, ox+count−1) do; (iy, ix) is
// the input that the first of them reads. ih×iw and oh×ow are the sizes of input and
// output. The window has two axes.
func (w Window) eachTap(ih, iw, oh, ow int, f func(oy, iy, ox, ix, count int)) {
	for ky := range w.Kernel[0] {
		y0, y1 := w.span(0, ky, ih, oh)
		for kx := range w.Kernel[1] {
			x0, x1 := w.span(1, kx, iw, ow)
			if x0 == x1 {
				continue
			}
			ix := x0*w.Strides[1] + kx*w.Dilations[1] - w.Begin[1]
			for oy := y0; oy < y1; oy++ {
				iy := oy*w.Strides[0] + ky*w.Dilations[0] - w.Begin[0]
				f(oy, iy, x0, ix, x1-x0)
			}
		}
	}
}

package onnx

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
)

// The graph has windows over one or two spatial axes. Windows over more axes, and those
// of ConvTranspose, become Gathers along single axes, which only move entries, followed
// by windows over at most two axes.

// mostSpatial is the largest number of spatial axes.
const mostSpatial = 4

// split divides a window into one over the first spatial axis, and one over the others.
func split(w graph.Window) (first, rest graph.Window) {
	head := func(v []int) []int { return v[:1:1] }
	return graph.Window{Kernel: head(w.Kernel), Strides: head(w.Strides), Dilations: head(w.Dilations), Begin: head(w.Begin), End: head(w.End)},
		graph.Window{Kernel: w.Kernel[1:], Strides: w.Strides[1:], Dilations: w.Dilations[1:], Begin: w.Begin[1:], End: w.End[1:]}
}

// convolve is a convolution over one to mostSpatial axes. The kernel positions along all
// axes but the last two become channels. A computed bias is added afterwards.
func (o *op) convolve(w graph.Window, group int, x, weights graph.Value, bias ...graph.Value) graph.Value {
	sx, sw := o.shape(x), o.shape(weights)
	o.failIf(len(sx) < 3 || len(sx) > 2+mostSpatial || len(sw) != len(sx),
		"input and weights have shapes %v and %v; one to %d spatial axes are supported", sx, sw, mostSpatial)
	if len(bias) > 0 && o.Tensor(bias[0]) == nil {
		y := o.convolve(w, group, x, weights)
		per := slices.Repeat([]int{1}, len(sx)-1)
		per[0] = graph.Size(o.shape(bias[0]))
		return o.Add(y, o.Reshape(bias[0], per))
	}
	if len(sx) <= 4 {
		return o.Conv(graph.Conv{Window: w, Group: group}, x, weights, bias...)
	}
	first, rest := split(w)
	d, taps := sx[2], first.Kernel[0]
	reach := (taps-1)*first.Dilations[0] + 1
	free := d + first.Begin[0] + first.End[0] - reach
	o.failIf(free < 0 || !slices.Equal(w.Kernel, sw[2:]) || group < 1 || sx[1]%group != 0 || sw[1] != sx[1]/group,
		"weights of shape %v in %d groups do not fit an input of shape %v", sw, group, sx)
	outs := free/first.Strides[0] + 1
	o.room(outs, taps)
	index := filled(outs*taps, func(i int) int {
		at := i/taps*first.Strides[0] + i%taps*first.Dilations[0] - first.Begin[0]
		if at < 0 || at >= d {
			return -1
		}
		return at
	})
	n, c := sx[0], sx[1]
	x = o.Reshape(o.Gather(x, 2, index), slices.Concat([]int{n, c, outs, taps}, sx[3:]))
	perm := append([]int{0, 2, 1, 3}, upTo(4, 1+len(sx))...)
	x = o.Reshape(o.Transpose(x, perm), slices.Concat([]int{n * outs, c * taps}, sx[3:]))
	weights = o.Reshape(weights, slices.Concat([]int{sw[0], sw[1] * taps}, sw[3:]))
	y := o.convolve(rest, group, x, weights, bias...)
	sy := o.shape(y)
	perm = append([]int{0, 2, 1}, upTo(3, 1+len(sy))...)
	return o.Transpose(o.Reshape(y, slices.Concat([]int{n, outs, sy[1]}, sy[2:])), perm)
}

// alongAxes applies a pooling operator that can be applied to one axis after the other.
// Of more than two spatial axes it pools the first ones singly, and the last two
// together. from is the index of pool's first axis among the spatial ones.
func (o *op) alongAxes(x graph.Value, w graph.Window, pool func(x graph.Value, w graph.Window, from int) graph.Value) graph.Value {
	var walk func(x graph.Value, w graph.Window, from int) graph.Value
	walk = func(x graph.Value, w graph.Window, from int) graph.Value {
		s := o.shape(x)
		if len(w.Kernel) <= 2 {
			return pool(x, w, from)
		}
		first, rest := split(w)
		// line is the window over the first axis, and over a second axis with a kernel of 1,
		// which it leaves unchanged.
		one := func(v []int, of int) []int { return []int{v[0], of} }
		line := graph.Window{Kernel: one(first.Kernel, 1), Strides: one(first.Strides, 1), Dilations: one(first.Dilations, 1),
			Begin: one(first.Begin, 0), End: one(first.End, 0)}
		y := pool(o.Reshape(x, []int{s[0], s[1], s[2], graph.Size(s[3:])}), line, from)
		outs := o.shape(y)[2]
		y = walk(o.Reshape(y, slices.Concat([]int{s[0], s[1] * outs}, s[3:])), rest, from+1)
		return o.Reshape(y, slices.Concat([]int{s[0], s[1], outs}, o.shape(y)[2:]))
	}
	return walk(x, w, 0)
}

// lowerConvTranspose is a convolution with reversed weights. Its input has zeros
// inserted between and around the entries.
func lowerConvTranspose(o *op) {
	x, weights := o.in(0), o.in(1)
	sx, sw := o.shape(x), o.shape(weights)
	n := len(sx) - 2
	o.failIf(n < 1 || n > mostSpatial || len(sw) != len(sx) || sw[0] != sx[1],
		"input and weights have shapes %v and %v", sx, sw)
	kernel := o.spatial("kernel_shape", n, 0, 0)
	for i, k := range kernel {
		o.failIf(k != 0 && k != sw[2+i], "kernel_shape %v, but the weights have shape %v", kernel, sw)
		kernel[i] = sw[2+i]
	}
	group := int(o.intAttr("group", 1))
	o.failIf(group < 1 || sx[1]%group != 0, "%d groups of %d channels", group, sx[1])
	strides, dilations := o.spatial("strides", n, 1, 1), o.spatial("dilations", n, 1, 1)
	outs, begins := o.transposedOutputs(sx[2:], kernel, strides, dilations)
	for i := range n {
		reach := (kernel[i] - 1) * dilations[i]
		o.room(outs[i] + reach)
		index := make([]int, outs[i]+reach)
		for j := range index {
			at := j - reach + begins[i]
			if index[j] = -1; at >= 0 && at%strides[i] == 0 && at/strides[i] < sx[2+i] {
				index[j] = at / strides[i]
			}
		}
		x = o.Gather(x, 2+i, index)
	}
	m := sw[1]
	weights = o.Reshape(weights, slices.Concat([]int{group, sw[0] / group, m}, sw[2:]))
	perm := append([]int{0, 2, 1}, upTo(3, 3+n)...)
	weights = o.Reshape(o.Transpose(weights, perm), slices.Concat([]int{group * m, sw[0] / group}, sw[2:]))
	for i := range n {
		weights = o.SliceAxis(weights, 2+i, kernel[i]-1, -1, kernel[i])
	}
	ones, zeros := slices.Repeat([]int{1}, n), make([]int, n)
	window := graph.Window{Kernel: kernel, Strides: ones, Dilations: dilations, Begin: zeros, End: zeros}
	o.result(0, o.convolve(window, group, x, weights, o.optional(2)...))
}

// transposedOutputs returns the output's sizes along the spatial axes of a ConvTranspose,
// and how many entries its padding cuts from the beginning of each axis.
func (o *op) transposedOutputs(in, kernel, strides, dilations []int) (outs, begins []int) {
	n := len(in)
	extra := o.spatial("output_padding", n, 0, 0)
	auto := o.strAttr("auto_pad", "NOTSET")
	pads := o.spatial("pads", 2*n, 0, 0)
	outs, begins = make([]int, n), pads[:n]
	full := make([]int, n)
	for i := range outs {
		full[i] = (in[i]-1)*strides[i] + (kernel[i]-1)*dilations[i] + 1 + extra[i]
		outs[i] = full[i] - pads[i] - pads[n+i]
	}
	shaped := o.attrs["output_shape"] != nil
	if shaped {
		outs = o.spatial("output_shape", n, 1, 1)
	}
	for i := range outs {
		if shaped || auto == "SAME_UPPER" || auto == "SAME_LOWER" {
			if !shaped {
				outs[i] = in[i] * strides[i]
			}
			total := full[i] - outs[i]
			half := total >> 1 // rounded down
			if begins[i] = total - half; auto == "SAME_UPPER" {
				begins[i] = half
			}
		}
		o.failIf(outs[i] < 1 || outs[i] > graph.MaxActivations, "an output of %d along spatial axis %d", outs[i], i)
	}
	return outs, begins
}

// lowerLpPool is the p-norm of each window.
func lowerLpPool(o *op) {
	x, in := o.pooled()
	w, _ := o.window(in, o.kernel(len(in)))
	o.result(0, o.lpPool(x, w, o.lpOrder()))
}

// lpOrder returns the attribute p of a p-norm. It is a float in operator set 1.
func (o *op) lpOrder() int {
	var p float64
	if o.opset < 2 {
		p = o.floatAttr("p", 2)
	} else {
		p = float64(o.intAttr("p", 2))
	}
	o.failIf(p < 1 || p > 16 || p != math.Trunc(p), "p = %v is not supported", p)
	return int(p)
}

func lowerGlobalLpPool(o *op) {
	x, in := o.pooled()
	w, _ := o.window(in, in)
	o.result(0, o.lpPool(x, w, o.lpOrder()))
}

// lpPool is the p-norm of each window. It first divides each window by its L2 norm, so
// that windows of small numbers are as precise as others: ‖x‖_p = ‖x‖·‖x/‖x‖‖_p, and ‖x‖
// = Σ x·(x/‖x‖).
func (o *op) lpPool(x graph.Value, w graph.Window, p int) graph.Value {
	y := o.patches(x, w, false)
	last := []int{len(o.shape(y)) - 1}
	if p == 1 {
		return o.Reduce(graph.Sum, o.Apply(graph.Abs, y), last, false)
	}
	unit := o.Norm(graph.Norm{Axes: last, Sum: true}, y)
	norm := o.Reduce(graph.Sum, o.Mul(y, unit), last, false)
	if p == 2 {
		return norm
	}
	ratio := o.Reduce(graph.Sum, o.Pow(o.Apply(graph.Abs, unit), o.Number(float64(p))), last, false)
	return o.Mul(norm, o.Pow(ratio, o.Number(1/float64(p))))
}

// patches returns the elements of each window, in shape (N, C, outputs…, window).
// Padding is 0 or, if again is set, another element of the same window.
func (o *op) patches(x graph.Value, w graph.Window, again bool) graph.Value {
	in := o.shape(x)
	n := len(w.Kernel)
	shape := slices.Clone(in[:2])
	for i := range n {
		d := in[2+i]
		free := d + w.Begin[i] + w.End[i] - ((w.Kernel[i]-1)*w.Dilations[i] + 1)
		o.failIf(free < 0, "a kernel of %v is larger than its padded input of shape %v", w.Kernel, in)
		outs := free/w.Strides[i] + 1
		o.room(outs, w.Kernel[i])
		index := make([]int, 0, outs*w.Kernel[i])
		for j := range outs {
			padding := -1
			for t := w.Kernel[i] - 1; again && t >= 0; t-- {
				if at := j*w.Strides[i] + t*w.Dilations[i] - w.Begin[i]; at >= 0 && at < d {
					padding = at
				}
			}
			for t := range w.Kernel[i] {
				at := j*w.Strides[i] + t*w.Dilations[i] - w.Begin[i]
				if at < 0 || at >= d {
					at = padding
				}
				index = append(index, at)
			}
		}
		x = o.Gather(x, 2+i, index)
		shape = append(shape, outs, w.Kernel[i])
	}
	perm := slices.Concat([]int{0, 1}, filled(n, func(i int) int { return 2 + 2*i }), filled(n, func(i int) int { return 3 + 2*i }))
	x = o.Transpose(o.Reshape(x, shape), perm)
	s := o.shape(x)
	return o.Reshape(x, append(slices.Clone(s[:2+n]), graph.Size(s[2+n:])))
}

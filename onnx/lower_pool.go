package onnx

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
)

// spatial reads an attribute that is a list of n numbers of at least lo, such as one for
// each spatial axis. If it is absent, all of them are def.
func (o *op) spatial(name string, n int, def, lo int64) []int {
	const hi = 1 << 30
	list := o.intsAttr(name)
	out := make([]int, n)
	o.failIf(list != nil && len(list) != n, "%s %v for %d axes", name, list, n)
	for i := range out {
		v := def
		if list != nil {
			v = list[i]
		}
		o.failIf(v < lo || v > hi, "%s %v", name, list)
		out[i] = int(v)
	}
	return out
}

// window reads strides, dilations, padding and ceil_mode. declaredEnd is the padding at
// the end without what ceil_mode adds to it.
func (o *op) window(in, kernel []int) (w graph.Window, declaredEnd []int) {
	n := len(in)
	w.Kernel = slices.Clone(kernel)
	w.Strides = o.spatial("strides", n, 1, 1)
	w.Dilations = o.spatial("dilations", n, 1, 1)
	pads := o.spatial("pads", 2*n, 0, 0)
	w.Begin, w.End = pads[:n:n], pads[n:]
	auto := o.wordAttr("auto_pad", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")
	ceil := o.flagAttr("ceil_mode", false)
	for i, d := range in {
		reach := (kernel[i]-1)*w.Dilations[i] + 1
		stride := w.Strides[i]
		switch auto {
		case "VALID":
			w.Begin[i], w.End[i] = 0, 0
		case "SAME_UPPER", "SAME_LOWER":
			total := max(((d+stride-1)/stride-1)*stride+reach-d, 0)
			w.Begin[i], w.End[i] = total/2, total-total/2
			if auto == "SAME_LOWER" {
				w.Begin[i], w.End[i] = w.End[i], w.Begin[i]
			}
		}
		declaredEnd = append(declaredEnd, w.End[i])
		free := d + w.Begin[i] + w.End[i] - reach
		if ceil && free >= 0 && free%stride != 0 && (free/stride+1)*stride < d+w.Begin[i] {
			// One more window, unless it would start in the padding.
			w.End[i] += stride - free%stride
		}
	}
	return w, declaredEnd
}

// pooled returns the input of a pooling operator, and the sizes of its spatial axes.
func (o *op) pooled() (x graph.Value, spatial []int) {
	x = o.in(0)
	s := o.shape(x)
	o.failIf(len(s) < 3 || len(s) > 2+mostSpatial,
		"its input has shape %v; one to %d spatial axes are supported", s, mostSpatial)
	return x, s[2:]
}

// kernel reads the kernel's shape.
func (o *op) kernel(n int) []int {
	o.failIf(o.attrs["kernel_shape"] == nil, "has no kernel_shape")
	return o.spatial("kernel_shape", n, 1, 1)
}

func lowerMaxPool(o *op) {
	x, in := o.pooled()
	w, _ := o.window(in, o.kernel(len(in)))
	columnsFirst := o.flagAttr("storage_order", false) // the order in which indices count
	if len(o.proto.Output) > 1 && o.proto.Output[1] != "" {
		y, index := o.maxPoolIndices(x, w, columnsFirst)
		o.result(0, y)
		o.result(1, index)
		return
	}
	o.result(0, o.maxPool(x, w))
}

// lowerAveragePool counts padding if count_include_pad is set, but not the padding that
// ceil_mode adds.
func lowerAveragePool(o *op) {
	x, in := o.pooled()
	w, end := o.window(in, o.kernel(len(in)))
	lo, hi := make([]int, len(in)), slices.Clone(in)
	if o.flagAttr("count_include_pad", false) {
		for i := range in {
			lo[i], hi[i] = -w.Begin[i], in[i]+end[i]
		}
	}
	o.result(0, o.alongAxes(x, w, func(x graph.Value, w graph.Window, from int) graph.Value {
		if n := len(w.Kernel); n > 1 && len(in) > 2 && w.Kernel[1] == 1 && from < len(in)-2 { // one axis alone
			return o.AveragePool(x, w, []int{lo[from], 0}, []int{hi[from], o.shape(x)[3]})
		}
		return o.AveragePool(x, w, lo[from:], hi[from:])
	}))
}

// lowerGlobalAveragePool is a mean over the spatial axes.
func lowerGlobalAveragePool(o *op) {
	x := o.in(0)
	rank := len(o.shape(x))
	o.failIf(rank < 3 || !o.DType(x).IsFloat(), "its input has shape %v and type %v", o.shape(x), o.DType(x))
	o.result(0, o.Reduce(graph.Mean, x, upTo(2, rank), true))
}

// lowerGlobalMaxPool is a MaxPool whose kernel is the input's size.
func lowerGlobalMaxPool(o *op) {
	x, in := o.pooled()
	w, _ := o.window(in, in)
	o.result(0, o.maxPool(x, w))
}

// maxPool is MaxPool along the spatial axes of floats or integers.
func (o *op) maxPool(x graph.Value, w graph.Window) graph.Value {
	dt := o.DType(x)
	if !dt.IsFloat() {
		x = o.Cast(x, graph.Float)
	}
	y := o.alongAxes(x, w, func(x graph.Value, w graph.Window, _ int) graph.Value { return o.MaxPool(x, w) })
	if !dt.IsFloat() {
		y = o.Whole(y, dt)
	}
	return y
}

package onnx

import "slices"

// window is how a kernel moves over the spatial axes.
type window struct {
	kernel, strides, dilations []int
	begin, end                 []int // padding; end includes what ceil_mode adds
	declaredEnd                []int // without that
	out                        []int
}

func (g *window) attrs() []set {
	return []set{
		ints("kernel", g.kernel...), ints("strides", g.strides...), ints("dilations", g.dilations...),
		ints("pads", slices.Concat(g.begin, g.end)...),
	}
}

// spatial reads a list with an entry for each spatial axis, within [lo, hi].
func (o *op) spatial(name string, n int, def, lo int64) []int {
	const hi = 1 << 30
	list := o.intsAttr(name)
	out := make([]int, n)
	if list != nil && len(list) != n {
		o.failf("%s %v for %d axes", name, list, n)
	}
	for i := range out {
		v := def
		if list != nil {
			v = list[i]
		}
		if v < lo || v > hi {
			o.failf("%s %v", name, list)
		}
		out[i] = int(v)
	}
	return out
}

// window reads strides, dilations, padding and ceil_mode.
func (o *op) window(in, kernel []int) *window {
	n := len(in)
	g := &window{kernel: kernel, out: make([]int, n)}
	g.strides = o.spatial("strides", n, 1, 1)
	g.dilations = o.spatial("dilations", n, 1, 1)
	pads := o.spatial("pads", 2*n, 0, 0)
	g.begin, g.end = pads[:n], pads[n:]
	auto := o.strAttr("auto_pad", "NOTSET")
	ceil := o.flagAttr("ceil_mode", false)
	for i, d := range in {
		reach := (kernel[i]-1)*g.dilations[i] + 1
		stride := g.strides[i]
		switch auto {
		case "NOTSET":
		case "VALID":
			g.begin[i], g.end[i] = 0, 0
		case "SAME_UPPER", "SAME_LOWER":
			total := max(((d+stride-1)/stride-1)*stride+reach-d, 0)
			g.begin[i], g.end[i] = total/2, total-total/2
			if auto == "SAME_LOWER" {
				g.begin[i], g.end[i] = g.end[i], g.begin[i]
			}
		default:
			o.failf("auto_pad %s is not known", quote(auto))
		}
		free := d + g.begin[i] + g.end[i] - reach
		if free < 0 {
			o.failf("a kernel of reach %d is larger than its padded input, %d", reach, d+g.begin[i]+g.end[i])
		}
		g.out[i] = free/stride + 1
		g.declaredEnd = append(g.declaredEnd, g.end[i])
		if ceil && free%stride != 0 && g.out[i]*stride < d+g.begin[i] {
			// One more window, unless it would start in the padding.
			g.end[i] += stride - free%stride
			g.out[i]++
		}
	}
	return g
}

// overlap returns how many of the kernel's positions on axis i, at output
// index j, fall into [lo, hi) of the input's index.
func (g *window) overlap(i, j, lo, hi int) int {
	n := 0
	first := j*g.strides[i] - g.begin[i]
	// Positions are first + t·dilation; count t with lo ≤ position < hi.
	d := g.dilations[i]
	from := max(ceilDiv(lo-first, d), 0)
	to := min(ceilDiv(hi-first, d), g.kernel[i])
	if to > from {
		n = to - from
	}
	return n
}

// ceilDiv returns ⌈a/b⌉ for b > 0.
func ceilDiv(a, b int) int {
	q := a / b
	if a%b > 0 {
		q++
	}
	return q
}

// poolInput checks the input of a pooling operator and returns it.
func (o *op) poolInput() (string, []int) {
	o.arity(1, 1)
	x := o.in(0)
	s := o.shapes[x]
	if !o.dtypes[x].IsFloat() {
		o.failf("its input has type %v", o.dtypes[x])
	}
	if len(s) < 3 || len(s) > 4 {
		o.failf("its input has shape %v; one or two spatial axes are supported", s)
	}
	return x, s
}

func (o *op) poolWindow(s []int) *window {
	n := len(s) - 2
	if o.attrs["kernel_shape"] == nil {
		o.failf("has no kernel_shape")
	}
	return o.window(s[2:], o.spatial("kernel_shape", n, 1, 1))
}

// lowerMaxPool refuses windows that see nothing but padding.
func lowerMaxPool(o *op) {
	x, s := o.poolInput()
	g := o.poolWindow(s)
	o.ignore("storage_order") // of the indices, which are not supported
	y := o.emit("MaxPool", append(slices.Clone(s[:2]), g.out...), Float, []string{x}, g.attrs()...)
	for i, n := range g.out {
		for j := range n {
			if g.overlap(i, j, 0, s[2+i]) == 0 {
				o.failf("its window at %d of spatial axis %d is all padding", j, i)
			}
		}
	}
	o.result(0, y)
}

// lowerAveragePool divides by the kernel's size, and corrects the windows at
// the borders that the file divides by less.
func lowerAveragePool(o *op) {
	x, s := o.poolInput()
	g := o.poolWindow(s)
	countPads := o.flagAttr("count_include_pad", false)
	shape := append(slices.Clone(s[:2]), g.out...)
	y := o.emit("AveragePool", shape, Float, []string{x}, g.attrs()...)
	// The divisor is a product over the axes, and so is the correction.
	factors := make([][]float64, len(g.out))
	uniform := true
	for i, n := range g.out {
		lo, hi := 0, s[2+i]
		if countPads {
			lo, hi = -g.begin[i], s[2+i]+g.declaredEnd[i]
		}
		for j := range n {
			c := g.overlap(i, j, lo, hi)
			if c == 0 {
				o.failf("its window at %d of spatial axis %d is all padding", j, i)
			}
			uniform = uniform && c == g.kernel[i]
			factors[i] = append(factors[i], float64(g.kernel[i])/float64(c))
		}
	}
	if uniform {
		o.result(0, y)
		return
	}
	v := []float64{1}
	for _, f := range factors {
		var next []float64
		for _, a := range v {
			for _, b := range f {
				next = append(next, a*b)
			}
		}
		v = next
	}
	f := make([]float32, len(v))
	for i := range v {
		f[i] = float32(v[i])
	}
	o.result(0, o.mul(y, o.floats("correction", append([]int{1, 1}, g.out...), f)))
}

// lowerGlobalAveragePool is a mean over the spatial axes.
func lowerGlobalAveragePool(o *op) {
	o.arity(1, 1)
	x := o.in(0)
	if len(o.shapes[x]) < 3 || !o.dtypes[x].IsFloat() {
		o.failf("its input has shape %v and type %v", o.shapes[x], o.dtypes[x])
	}
	var axes []int
	for i := 2; i < len(o.shapes[x]); i++ {
		axes = append(axes, i)
	}
	o.result(0, o.reduce("ReduceMean", x, axes, true))
}

// lowerGlobalMaxPool is a MaxPool whose kernel is the input's size.
func lowerGlobalMaxPool(o *op) {
	x, s := o.poolInput()
	g := o.window(s[2:], s[2:])
	o.result(0, o.emit("MaxPool", append(slices.Clone(s[:2]), g.out...), Float, []string{x}, g.attrs()...))
}

package onnx

import "slices"

// reduce combines the elements along axes, which are ascending.
func (o *op) reduce(kind, x string, axes []int, keep bool) string {
	in := o.shapes[x]
	shape := []int{}
	n := 1
	for i, d := range in {
		if !slices.Contains(axes, i) {
			shape = append(shape, d)
			continue
		}
		n *= d
		if keep {
			shape = append(shape, 1)
		}
	}
	if n == 1 { // sum, mean, extremes and product of one element
		return o.reshape(x, shape)
	}
	return o.emit(kind, shape, o.dtypes[x], []string{x}, ints("axes", axes...), flag("keepdims", keep))
}

// reduction lowers a Reduce operator: axes are an input or an attribute; none
// means all, or with noop_with_empty_axes none.
func reduction(kind string) func(*op) {
	return func(o *op) {
		o.arity(1, 2)
		x := o.in(0)
		rank := len(o.shapes[x])
		keep := o.flagAttr("keepdims", true)
		noop := o.flagAttr("noop_with_empty_axes", false)
		axes := o.axes(o.axesOption(1), rank)
		if len(axes) == 0 && !noop {
			for i := range rank {
				axes = append(axes, i)
			}
		}
		if !o.dtypes[x].IsFloat() && !o.isConst(x) && kind != "ReduceSum" {
			o.failf("its input has type %v", o.dtypes[x])
		}
		switch kind {
		case "ReduceL1":
			a := o.emit("Abs", o.shapes[x], o.dtypes[x], []string{x})
			o.result(0, o.reduce("ReduceSum", a, axes, keep))
		case "ReduceSumSquare":
			o.result(0, o.reduce("ReduceSum", o.mul(x, x), axes, keep))
		case "ReduceL2":
			s := o.reduce("ReduceSum", o.mul(x, x), axes, keep)
			o.result(0, o.emit("Sqrt", o.shapes[s], o.dtypes[x], []string{s}))
		default:
			o.result(0, o.reduce(kind, x, axes, keep))
		}
	}
}

// lowerSoftmax moves the axis to the end. Before operator set 13 everything
// from the axis on is one axis.
func lowerSoftmax(o *op) {
	o.arity(1, 1)
	x := o.in(0)
	in := o.shapes[x]
	rank := len(in)
	if !o.dtypes[x].IsFloat() {
		o.failf("its input has type %v", o.dtypes[x])
	}
	def := int64(-1)
	if o.opset < 13 {
		def = 1
	}
	axis := o.axis(o.intAttr("axis", def), rank)
	if o.opset < 13 {
		flat := in
		if axis != rank-1 {
			flat = []int{size(in[:axis]), size(in[axis:])}
		}
		o.result(0, o.reshape(o.softmax(o.reshape(x, flat)), in))
		return
	}
	perm := make([]int, rank) // swaps axis and the last; its own inverse
	for i := range perm {
		perm[i] = i
	}
	perm[axis], perm[rank-1] = rank-1, axis
	o.result(0, o.transpose(o.softmax(o.transpose(x, perm)), perm))
}

func (o *op) softmax(x string) string {
	return o.emit("Softmax", o.shapes[x], Float, []string{x}, ints("axis", len(o.shapes[x])-1))
}

// lowerLayerNorm writes LayerNormalization out: (x − mean)/√(variance + ε),
// then scale and bias.
func lowerLayerNorm(o *op) {
	o.arity(2, 3)
	x := o.in(0)
	in := o.shapes[x]
	axis := o.axis(o.intAttr("axis", -1), len(in))
	eps := o.floatAttr("epsilon", 1e-5)
	o.ignore("stash_type")
	var axes []int
	for i := axis; i < len(in); i++ {
		axes = append(axes, i)
	}
	d := o.sub(x, o.reduce("ReduceMean", x, axes, true))
	variance := o.reduce("ReduceMean", o.mul(d, d), axes, true)
	sum := o.add(variance, o.scalar("epsilon", eps))
	y := o.binary("Div", d, o.emit("Sqrt", o.shapes[sum], Float, []string{sum}))
	y = o.mul(y, o.in(1))
	if o.has(2) {
		y = o.add(y, o.in(2))
	}
	if !slices.Equal(o.shapes[y], in) {
		o.failf("scale or bias do not fit shape %v", in)
	}
	o.result(0, y)
}

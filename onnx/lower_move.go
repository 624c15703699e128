package onnx

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
)

// lowerReshape resolves the special sizes of the new shape: 0 is the size of the same
// axis of the input (unless allowzero is set), and −1 is the size that the number of
// elements requires.
func lowerReshape(o *op) {
	x, in := o.tensor(0)
	var target []int64
	if o.opset < 5 {
		target = o.intsAttr("shape")
	} else {
		target = o.intsInput(1, "the new shape")
	}
	allowZero := o.flagAttr("allowzero", false)
	o.failIf(len(target) > graph.MaxRank, "new shape has %d axes", len(target))
	shape := make([]int, len(target))
	rest, known := -1, 1
	for i, d := range target {
		switch {
		case d == 0 && !allowZero:
			o.failIf(i >= len(in), "new shape %v keeps axis %d, which shape %v does not have", target, i, in)
			shape[i] = in[i]
		case d == -1 && rest < 0:
			rest = i
			continue
		case d < 0 || d > graph.MaxElements:
			o.failf("new shape %v is not possible", target)
		default:
			shape[i] = int(d)
		}
		o.failIf(known > graph.MaxElements/max(shape[i], 1), "new shape %v is too large", target)
		known *= shape[i]
	}
	if rest >= 0 {
		o.failIf(known == 0 || graph.Size(in)%known != 0, "shape %v does not become %v", in, target)
		shape[rest] = graph.Size(in) / known
	}
	o.result(0, o.Reshape(x, shape))
}

func lowerFlatten(o *op) {
	x, in := o.tensor(0)
	a := o.intAttr("axis", 1)
	o.failIf(a < -int64(len(in)) || a > int64(len(in)), "axis %d of shape %v", a, in)
	if a < 0 {
		a += int64(len(in))
	}
	o.result(0, o.Reshape(x, []int{graph.Size(in[:a]), graph.Size(in[a:])}))
}

// listed returns the integers of an input or, if that is absent, of an attribute, which
// older operator sets have instead. It returns nil if both are absent.
func (o *op) listed(attr string, input int) []int64 {
	return o.intsOr(input, attr, o.intsAttr(attr))
}

// lowerSqueeze removes the listed axes, or all axes of dimension 1 if none are listed.
func lowerSqueeze(o *op) {
	x, in := o.tensor(0)
	list := o.listed("axes", 1)
	drop := map[int]bool{}
	if list == nil {
		for i, d := range in {
			drop[i] = d == 1
		}
	}
	for _, a := range o.axes(list, len(in)) {
		o.failIf(in[a] != 1, "axis %d of shape %v is not 1", a, in)
		drop[a] = true
	}
	shape := []int{}
	for i, d := range in {
		if !drop[i] {
			shape = append(shape, d)
		}
	}
	o.result(0, o.Reshape(x, shape))
}

func lowerUnsqueeze(o *op) {
	x := o.in(0)
	list := o.listed("axes", 1)
	o.failIf(list == nil, "has no axes")
	rank := len(o.shape(x)) + len(list)
	o.failIf(rank > graph.MaxRank, "its output has %d axes", rank)
	shape := slices.Clone(o.shape(x))
	for _, a := range o.axes(list, rank) {
		shape = slices.Insert(shape, a, 1)
	}
	o.result(0, o.Reshape(x, shape))
}

func lowerTranspose(o *op) {
	x := o.in(0)
	rank := len(o.shape(x))
	list := o.intsAttr("perm")
	if list == nil {
		list = upTo(0, int64(rank))
		slices.Reverse(list)
	}
	o.failIf(len(list) != rank, "permutation %v of a tensor of shape %v", list, o.shape(x))
	o.axes(list, rank) // checks that they are distinct
	o.result(0, o.Transpose(x, o.eachAxis(list, rank)))
}

// lowerSlice reads its bounds from inputs, or before operator set 10 from attributes.
func lowerSlice(o *op) {
	x, in := o.tensor(0)
	rank := len(in)
	starts, ends, axes := o.listed("starts", 1), o.listed("ends", 2), o.listed("axes", 3)
	n := len(starts)
	o.failIf(n > rank, "bounds for %d axes of shape %v", n, in)
	if axes == nil {
		axes = upTo(0, int64(n))
	}
	steps := o.intsOr(4, "steps", slices.Repeat([]int64{1}, n))
	o.failIf(n == 0 || len(ends) != n || len(axes) != n || len(steps) != n,
		"starts, ends, axes and steps differ in length")
	o.axes(axes, rank) // checks that they are distinct
	from, step, count := make([]int, rank), slices.Repeat([]int{1}, rank), slices.Clone(in)
	for i, a := range axes {
		o.failIf(steps[i] == 0 || steps[i] == math.MinInt64, "step %d", steps[i])
		axis := o.axis(a, rank)
		from[axis], step[axis], count[axis] = sliced(in[axis], starts[i], ends[i], steps[i])
	}
	o.result(0, o.Slice(x, from, step, count))
}

// sliced returns the first index, the step and the number of entries of a slice of an axis
// of n. Bounds beyond the ends of the axis are clamped, so huge bounds mean "all"; negative
// ones count from the end.
func sliced(n int, start, end, by int64) (from, step, count int) {
	d := int64(n)
	at := func(v, lo, hi int64) int64 {
		if v < 0 {
			v = max(v, -d-1) + d
		}
		return min(max(v, lo), hi)
	}
	if by > 0 {
		lo, hi := at(start, 0, d), at(end, 0, d)
		by = min(by, max(d, 1)) // longer steps reach no other element
		return int(lo), int(by), int(max((hi-lo+by-1)/by, 0))
	}
	lo, hi := at(start, 0, d-1), at(end, -1, d-1)
	by = max(by, -max(d, 1))
	return int(lo), int(by), int(max((lo-hi-by-1)/-by, 0))
}

// lowerSplit makes a Slice for each output.
func lowerSplit(o *op) {
	x, in := o.tensor(0)
	axis := o.axis(o.intAttr("axis", 0), len(in))
	sizes := o.listed("split", 1)
	n := len(o.proto.Output)
	v := o.intAttr("num_outputs", int64(n))
	o.failIf(v != int64(n), "num_outputs is %d, but it has %d outputs", v, n)
	o.failIf(n > in[axis] && sizes == nil, "%d outputs of an axis of %d", n, in[axis])
	if sizes == nil { // equal parts, the last may be smaller
		part := (in[axis] + n - 1) / n
		sizes = filled(n, func(i int) int64 { return int64(max(min(part, in[axis]-i*part), 0)) })
	}
	o.failIf(len(sizes) != n, "split %v has not one entry for each of %d outputs", sizes, n)
	o.cut(x, axis, sizes, o.result)
}

// cut splits x along an axis into parts of these sizes, and calls take with each part and
// its index.
func (o *op) cut(x graph.Value, axis int, sizes []int64, take func(i int, part graph.Value)) {
	n, at := int64(o.shape(x)[axis]), int64(0)
	for i, s := range sizes {
		o.failIf(s < 0 || s > n-at, "split %v of an axis of %d", sizes, n)
		take(i, o.SliceAxis(x, axis, int(at), 1, int(s)))
		at += s
	}
	o.failIf(at != n, "split %v of an axis of %d", sizes, n)
}

func lowerGather(o *op) {
	x, in := o.ranked(0, 1)
	o.result(0, o.Take(x, o.axis(o.intAttr("axis", 0), len(in)), o.in(1)))
}

// lowerPad reads its amounts from inputs, or before operator set 11 from attributes.
// Negative amounts cut; the modes other than constant become Gathers.
func lowerPad(o *op) {
	x := o.in(0)
	rank := len(o.shape(x))
	mode := o.strAttr("mode", "constant")
	value := o.floatAttr("value", 0)
	name := "pads"
	if o.opset < 2 {
		name = "paddings"
	}
	list := o.listed(name, 1)
	value = o.scalarOr(2, "the padding value", value)
	axes := o.intsOr(3, "the axes", upTo(0, int64(rank)))
	o.axes(axes, rank) // checks that they are distinct
	n := len(axes)
	o.failIf(len(list) != 2*n, "%d pads for %d axes", len(list), n)
	begin, end := make([]int, rank), make([]int, rank)
	for i, a := range axes {
		axis := o.axis(a, rank)
		b, e := list[i], list[n+i]
		o.failIf(min(b, e) < -int64(o.shape(x)[axis]) || max(b, e) > graph.MaxElements,
			"pads %v of shape %v", list, o.shape(x))
		begin[axis], end[axis] = int(b), int(e)
	}
	if mode == "constant" {
		o.result(0, o.Pad(x, begin, end, value))
		return
	}
	within := choice(o, "mode", mode, map[string]graph.PadMode{"reflect": graph.Reflect, "edge": graph.Edge, "wrap": graph.Wrap})
	for axis := range rank {
		x = o.PadWithin(x, axis, begin[axis], end[axis], within)
	}
	o.result(0, x)
}

func lowerConcat(o *op) {
	first := int64(math.MinInt64) // refused, as the attribute is required
	if o.opset < 4 {
		first = 1
	}
	axis := o.axis(o.intAttr("axis", first), len(o.shape(o.in(0))))
	o.result(0, o.Concat(axis, o.inputs(0)...))
}

// toShape returns a constant input as a shape.
func (o *op) toShape(input int, what string) []int {
	list := o.intsInput(input, what)
	shape, err := graph.CheckShape(list)
	o.failIf(err != nil, "%s: %v", what, err)
	return shape
}

func lowerTile(o *op) {
	if o.opset < 6 {
		o.result(0, o.tile())
		return
	}
	o.failIf(len(o.proto.Input) != 2, "has %d inputs; 2 are expected", len(o.proto.Input))
	o.result(0, o.Tile(o.in(0), o.toShape(1, "the repeats")))
}

// lowerDropout is the identity, as at inference. Its mask, output 1, keeps every element.
func lowerDropout(o *op) {
	o.ignore("ratio", "seed")
	o.failIf(o.has(2) && o.scalarInput(2, "training_mode") != 0 && (!o.has(1) || o.scalarInput(1, "the ratio") != 0),
		"training mode is not supported: what it drops is random")
	x := o.in(0)
	o.result(0, x)
	if o.wanted(1) {
		dt := graph.Bool
		if o.opset < 10 { // a mask of the input's type
			dt = o.DType(x)
		}
		one := o.Cast(o.Integers([]int{}, []int64{1}), dt)
		o.result(1, o.Fill(slices.Clone(o.shape(x)), o.Tensor(one)))
	}
}

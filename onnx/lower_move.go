package onnx

import (
	"math"
	"slices"
)

// reshape returns x in another shape of as many elements.
func (o *op) reshape(x string, shape []int) string {
	if slices.Equal(o.shapes[x], shape) {
		return x
	}
	if size(shape) != size(o.shapes[x]) {
		o.failf("shape %v does not hold the elements of %v", shape, o.shapes[x])
	}
	return o.emit("Reshape", shape, o.dtypes[x], []string{x})
}

// lowerReshape resolves 0 (as in the input, unless allowzero) and −1 (the rest).
func lowerReshape(o *op) {
	o.arity(2, 2)
	x := o.in(0)
	in := o.shapes[x]
	target := o.intsInput(1, "the new shape")
	allowZero := o.flagAttr("allowzero", false)
	if len(target) > maxRank {
		o.failf("new shape has %d axes", len(target))
	}
	shape := make([]int, len(target))
	rest, known := -1, 1
	for i, d := range target {
		switch {
		case d == 0 && !allowZero:
			if i >= len(in) {
				o.failf("new shape %v keeps axis %d, which shape %v does not have", target, i, in)
			}
			shape[i] = in[i]
		case d == -1 && rest < 0:
			rest = i
			continue
		case d < 0 || d > maxElements:
			o.failf("new shape %v is not possible", target)
		default:
			shape[i] = int(d)
		}
		if known > maxElements/max(shape[i], 1) {
			o.failf("new shape %v is too large", target)
		}
		known *= shape[i]
	}
	if rest >= 0 {
		if known == 0 || size(in)%known != 0 {
			o.failf("shape %v does not become %v", in, target)
		}
		shape[rest] = size(in) / known
	}
	o.result(0, o.reshape(x, shape))
}

func lowerFlatten(o *op) {
	o.arity(1, 1)
	x := o.in(0)
	in := o.shapes[x]
	a := o.intAttr("axis", 1)
	if a < -int64(len(in)) || a > int64(len(in)) {
		o.failf("axis %d of shape %v", a, in)
	}
	if a < 0 {
		a += int64(len(in))
	}
	o.result(0, o.reshape(x, []int{size(in[:a]), size(in[a:])}))
}

// axesOption reads axes from an input or an attribute; nil when neither is given.
func (o *op) axesOption(input int) []int64 {
	axes := o.intsAttr("axes")
	if o.has(input) {
		return o.intsInput(input, "the axes")
	}
	return axes
}

func lowerSqueeze(o *op) {
	o.arity(1, 2)
	x := o.in(0)
	in := o.shapes[x]
	list := o.axesOption(1)
	drop := map[int]bool{}
	if list == nil {
		for i, d := range in {
			drop[i] = d == 1
		}
	}
	for _, a := range o.axes(list, len(in)) {
		if in[a] != 1 {
			o.failf("axis %d of shape %v is not 1", a, in)
		}
		drop[a] = true
	}
	shape := []int{}
	for i, d := range in {
		if !drop[i] {
			shape = append(shape, d)
		}
	}
	o.result(0, o.reshape(x, shape))
}

func lowerUnsqueeze(o *op) {
	o.arity(1, 2)
	x := o.in(0)
	list := o.axesOption(1)
	if list == nil {
		o.failf("has no axes")
	}
	rank := len(o.shapes[x]) + len(list)
	if rank > maxRank {
		o.failf("its output has %d axes", rank)
	}
	shape := slices.Clone(o.shapes[x])
	for _, a := range o.axes(list, rank) {
		shape = slices.Insert(shape, a, 1)
	}
	o.result(0, o.reshape(x, shape))
}

// transpose returns x with output axis j being its axis perm[j].
func (o *op) transpose(x string, perm []int) string {
	shape := make([]int, len(perm))
	same := true
	for j, p := range perm {
		shape[j] = o.shapes[x][p]
		same = same && j == p
	}
	if same {
		return x
	}
	return o.emit("Transpose", shape, o.dtypes[x], []string{x}, ints("perm", perm...))
}

func lowerTranspose(o *op) {
	o.arity(1, 1)
	x := o.in(0)
	rank := len(o.shapes[x])
	list := o.intsAttr("perm")
	perm := make([]int, rank)
	if list == nil {
		for j := range perm {
			perm[j] = rank - 1 - j
		}
	} else {
		if len(list) != rank {
			o.failf("permutation %v of a tensor of shape %v", list, o.shapes[x])
		}
		o.axes(list, rank) // distinct
		for j, p := range list {
			perm[j] = o.axis(p, rank)
		}
	}
	o.result(0, o.transpose(x, perm))
}

// slice returns every steps-th element from starts on, counts of them an axis.
func (o *op) slice(x string, starts, steps, counts []int) string {
	same := slices.Equal(counts, o.shapes[x])
	for i, n := range counts {
		same = same && starts[i] == 0 && (steps[i] == 1 || n == 1)
		if n == 1 {
			steps[i] = 1
		}
	}
	if same {
		return x
	}
	return o.emit("Slice", counts, o.dtypes[x], []string{x}, ints("starts", starts...), ints("steps", steps...))
}

// lowerSlice reads bounds from attributes, before operator set 10, or inputs.
func lowerSlice(o *op) {
	o.arity(1, 5)
	x := o.in(0)
	in := o.shapes[x]
	rank := len(in)
	starts, ends, axes := o.intsAttr("starts"), o.intsAttr("ends"), o.intsAttr("axes")
	var strides []int64
	if o.has(1) {
		starts = o.intsInput(1, "starts")
	}
	if o.has(2) {
		ends = o.intsInput(2, "ends")
	}
	if o.has(3) {
		axes = o.intsInput(3, "axes")
	}
	if o.has(4) {
		strides = o.intsInput(4, "steps")
	}
	n := len(starts)
	if n == 0 || len(ends) != n || axes != nil && len(axes) != n || strides != nil && len(strides) != n {
		o.failf("starts, ends, axes and steps differ in length")
	}
	if axes == nil {
		if n > rank {
			o.failf("bounds for %d axes of shape %v", n, in)
		}
		for i := range starts {
			axes = append(axes, int64(i))
		}
	}
	o.axes(axes, rank) // distinct
	from, step, count := make([]int, rank), make([]int, rank), slices.Clone(in)
	for i := range step {
		step[i] = 1
	}
	for i, a := range axes {
		axis := o.axis(a, rank)
		s := int64(1)
		if strides != nil {
			s = strides[i]
		}
		if s == 0 || s == math.MinInt64 {
			o.failf("step %d", s)
		}
		d := int64(in[axis])
		// Ends of axes are met by clamping, so that huge bounds mean "all".
		at := func(v, lo, hi int64) int64 {
			if v < 0 {
				v = max(v, -d-1) + d
			}
			return min(max(v, lo), hi)
		}
		if s > 0 {
			lo, hi := at(starts[i], 0, d), at(ends[i], 0, d)
			s = min(s, max(d, 1)) // longer steps reach no other element
			from[axis], step[axis], count[axis] = int(lo), int(s), int(max((hi-lo+s-1)/s, 0))
		} else {
			lo, hi := at(starts[i], 0, d-1), at(ends[i], -1, d-1)
			s = max(s, -max(d, 1))
			from[axis], step[axis], count[axis] = int(lo), int(s), int(max((lo-hi-s-1)/-s, 0))
		}
	}
	o.result(0, o.slice(x, from, step, count))
}

// lowerSplit makes a Slice for each output.
func lowerSplit(o *op) {
	o.arity(1, 2)
	x := o.in(0)
	in := o.shapes[x]
	axis := o.axis(o.intAttr("axis", 0), len(in))
	sizes := o.intsAttr("split")
	if o.has(1) {
		sizes = o.intsInput(1, "the split")
	}
	n := len(o.proto.Output)
	if v := o.intAttr("num_outputs", int64(n)); v != int64(n) {
		o.failf("num_outputs is %d, but it has %d outputs", v, n)
	}
	if n > in[axis] && sizes == nil {
		o.failf("%d outputs of an axis of %d", n, in[axis])
	}
	if sizes == nil { // equal parts, the last may be smaller
		part := (in[axis] + n - 1) / n
		for i := range n {
			sizes = append(sizes, int64(max(min(part, in[axis]-i*part), 0)))
		}
	}
	if len(sizes) != n {
		o.failf("split %v has not one entry for each of %d outputs", sizes, n)
	}
	at := int64(0)
	for i, s := range sizes {
		if s < 0 || s > int64(in[axis])-at {
			o.failf("split %v of an axis of %d", sizes, in[axis])
		}
		o.result(i, o.sliceAxis(x, axis, int(at), 1, int(s)))
		at += s
	}
	if at != int64(in[axis]) {
		o.failf("split %v of an axis of %d", sizes, in[axis])
	}
}

// sliceAxis is slice along one axis.
func (o *op) sliceAxis(x string, axis, start, step, count int) string {
	in := o.shapes[x]
	starts, steps, counts := make([]int, len(in)), make([]int, len(in)), slices.Clone(in)
	for i := range steps {
		steps[i] = 1
	}
	starts[axis], steps[axis], counts[axis] = start, step, count
	return o.slice(x, starts, steps, counts)
}

// gather returns x with index i along axis reading indices[i]: a Slice where
// these are evenly spaced.
func (o *op) gather(x string, axis int, indices []int) string {
	if n := len(indices); n > 0 {
		step := 1
		if n > 1 {
			step = indices[1] - indices[0]
		}
		even := step != 0
		for i := 1; i < n; i++ {
			even = even && indices[i]-indices[i-1] == step
		}
		if even {
			return o.sliceAxis(x, axis, indices[0], step, n)
		}
	}
	shape := slices.Clone(o.shapes[x])
	shape[axis] = len(indices)
	return o.emit("Gather", shape, o.dtypes[x], []string{x}, ints("axis", axis), ints("indices", indices...))
}

func lowerGather(o *op) {
	o.arity(2, 2)
	x, i := o.in(0), o.in(1)
	in := o.shapes[x]
	t := o.consts[i]
	if t == nil || t.I64 == nil {
		o.failf("its indices %s must be constant integers", quote(i))
	}
	if len(in) == 0 {
		o.failf("its input is a scalar")
	}
	axis := o.axis(o.intAttr("axis", 0), len(in))
	indices := make([]int, len(t.I64))
	for j, v := range t.I64 {
		indices[j] = o.axis(v, in[axis])
	}
	shape := slices.Concat(in[:axis], t.Shape, in[axis+1:])
	if len(shape) > maxRank {
		o.failf("its output has %d axes", len(shape))
	}
	o.result(0, o.reshape(o.gather(x, axis, indices), shape))
}

// lowerPad reads its amounts from attributes, before operator set 11, or
// inputs. Negative amounts cut; the reflecting modes become Gather.
func lowerPad(o *op) {
	o.arity(1, 4)
	x := o.in(0)
	rank := len(o.shapes[x])
	mode := o.strAttr("mode", "constant")
	value := o.floatAttr("value", 0)
	list := o.intsAttr("pads")
	if o.has(1) {
		list = o.intsInput(1, "the pads")
	}
	if o.has(2) {
		value = o.scalarInput(2, "the padding value")
	}
	axes := make([]int64, rank)
	for i := range axes {
		axes[i] = int64(i)
	}
	if o.has(3) {
		axes = o.intsInput(3, "the axes")
		o.axes(axes, rank)
	}
	n := len(axes)
	if len(list) != 2*n {
		o.failf("%d pads for %d axes", len(list), n)
	}
	begin, end := make([]int, rank), make([]int, rank)
	for i, a := range axes {
		axis := o.axis(a, rank)
		b, e := list[i], list[n+i]
		if min(b, e) < -int64(o.shapes[x][axis]) || max(b, e) > maxElements {
			o.failf("pads %v of shape %v", list, o.shapes[x])
		}
		begin[axis], end[axis] = int(b), int(e)
	}
	switch mode {
	case "constant":
		o.result(0, o.pad(x, begin, end, value))
	case "reflect", "edge", "wrap":
		for axis := range rank {
			x = o.padByIndex(x, axis, begin[axis], end[axis], mode)
		}
		o.result(0, x)
	default:
		o.failf("mode %s is not known", quote(mode))
	}
}

// pad cuts what is negative and surrounds the rest by value.
func (o *op) pad(x string, begin, end []int, value float64) string {
	in := o.shapes[x]
	rank := len(in)
	starts, steps, counts := make([]int, rank), make([]int, rank), make([]int, rank)
	pads, shape := make([]int, 2*rank), make([]int, rank)
	none := true
	for i, d := range in {
		starts[i], steps[i] = max(-begin[i], 0), 1
		counts[i] = d - starts[i] - max(-end[i], 0)
		if counts[i] < 0 {
			o.failf("it cuts more than there is of shape %v", in)
		}
		pads[i], pads[rank+i] = max(begin[i], 0), max(end[i], 0)
		shape[i] = counts[i] + pads[i] + pads[rank+i]
		none = none && pads[i]+pads[rank+i] == 0
	}
	x = o.slice(x, starts, steps, counts)
	if none {
		return x
	}
	return o.emit("Pad", shape, o.dtypes[x], []string{x}, ints("pads", pads...), float("value", value))
}

// padByIndex pads one axis with elements of it.
func (o *op) padByIndex(x string, axis, begin, end int, mode string) string {
	d := o.shapes[x][axis]
	n := begin + d + end
	if d == 0 || n < 0 || n > maxActivations {
		o.failf("pads of %d and %d to an axis of %d", begin, end, d)
	}
	if mode == "reflect" && max(begin, end) >= d {
		o.failf("reflects %d and %d of an axis of %d", begin, end, d)
	}
	if n > o.foldBudget {
		o.failf("pads are too large")
	}
	o.foldBudget -= n
	indices := make([]int, n)
	for i := range indices {
		j := i - begin
		switch mode {
		case "edge":
			j = min(max(j, 0), d-1)
		case "wrap":
			j = ((j % d) + d) % d
		case "reflect":
			if j < 0 {
				j = -j
			}
			if j >= d {
				j = 2*(d-1) - j
			}
		}
		indices[i] = j
	}
	return o.gather(x, axis, indices)
}

func lowerConcat(o *op) {
	if len(o.proto.Input) == 0 {
		o.failf("has no inputs")
	}
	first := o.in(0)
	axis := o.axis(o.intAttr("axis", math.MinInt64), len(o.shapes[first]))
	shape := slices.Clone(o.shapes[first])
	shape[axis] = 0
	var parts []string
	for i := range o.proto.Input {
		v := o.in(i)
		s := o.shapes[v]
		if len(s) != len(shape) || o.dtypes[v].IsFloat() != o.dtypes[first].IsFloat() {
			o.failf("input %d has shape %v and type %v; input 0 has %v and %v", i, s, o.dtypes[v], o.shapes[first], o.dtypes[first])
		}
		for j := range s {
			if j != axis && s[j] != shape[j] {
				o.failf("shapes %v and %v do not join along axis %d", o.shapes[first], s, axis)
			}
		}
		shape[axis] += s[axis]
		if size(s) > 0 {
			parts = append(parts, v)
		}
	}
	if len(parts) == 0 {
		parts = []string{first}
	}
	if len(parts) == 1 {
		o.result(0, parts[0])
		return
	}
	o.result(0, o.emit("Concat", shape, o.dtypes[first], parts, ints("axis", axis)))
}

// toShape turns a constant input into a shape.
func (o *op) toShape(input int, what string) []int {
	list := o.intsInput(input, what)
	shape, err := checkShape(list)
	if err != nil {
		o.failf("%s: %v", what, err)
	}
	return shape
}

func lowerExpand(o *op) {
	o.arity(2, 2)
	x := o.in(0)
	shape, ok := broadcast(o.shapes[x], o.toShape(1, "the new shape"))
	if !ok {
		o.failf("shape %v does not broadcast to its target", o.shapes[x])
	}
	if slices.Equal(shape, o.shapes[x]) {
		o.result(0, x)
		return
	}
	if size(shape) == size(o.shapes[x]) {
		o.result(0, o.reshape(x, shape))
		return
	}
	o.result(0, o.emit("Expand", shape, o.dtypes[x], []string{x}))
}

func lowerTile(o *op) {
	o.arity(2, 2)
	x := o.in(0)
	in := o.shapes[x]
	repeats := o.toShape(1, "the repeats")
	if len(repeats) != len(in) {
		o.failf("repeats %v of shape %v", repeats, in)
	}
	shape := make([]int, len(in))
	for i := range in {
		if in[i] > 0 && repeats[i] > maxElements/in[i] {
			o.failf("repeats %v of shape %v are too many", repeats, in)
		}
		shape[i] = in[i] * repeats[i]
	}
	if slices.Equal(shape, in) {
		o.result(0, x)
		return
	}
	o.result(0, o.emit("Tile", shape, o.dtypes[x], []string{x}, ints("repeats", repeats...)))
}

func lowerIdentity(o *op) {
	o.arity(1, 1)
	o.result(0, o.in(0))
}

// lowerDropout is the identity at inference.
func lowerDropout(o *op) {
	o.arity(1, 3)
	o.ignore("ratio", "seed")
	if o.has(2) && o.scalarInput(2, "training_mode") != 0 {
		o.failf("training mode is not supported")
	}
	o.result(0, o.in(0))
}

package onnx

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
)

// pick returns a tensor of the given shape whose entries are the entries of x at the flat
// indices, and 0 for an index of −1.
func (o *op) pick(x graph.Value, shape, index []int) graph.Value {
	flat := o.Reshape(x, []int{graph.Size(o.shape(x))})
	return o.Reshape(o.Gather(flat, 0, index), shape)
}

// constantIndices returns input i, which must be a constant of integers, of any shape.
func (o *op) constantIndices(i int) *graph.Tensor {
	t := o.constantInput(i, "its indices")
	o.failIf(t.I64 == nil, "its indices have type %v", t.DType)
	return t
}

// elements returns, for each entry of indices along an axis (as in GatherElements), the
// flat index of the entry to which it refers in a tensor of shape in.
func (o *op) elements(in []int, axis int, indices *graph.Tensor) []int {
	o.failIf(len(indices.Shape) != len(in), "indices of shape %v for shape %v", indices.Shape, in)
	for i, d := range indices.Shape {
		o.failIf(i != axis && d > in[i], "indices of shape %v for shape %v", indices.Shape, in)
	}
	o.room(indices.Len())
	from, st := graph.Strides(indices.Shape), graph.Strides(in)
	out := make([]int, indices.Len())
	for at := range out {
		for i, d := range indices.Shape {
			j := at / from[i] % d
			if i == axis {
				j = o.axis(indices.I64[at], in[axis])
			}
			out[at] += j * st[i]
		}
	}
	return out
}

// lowerGatherElements only moves entries if the indices are constant. Otherwise each
// index becomes a one-hot vector along the axis.
func lowerGatherElements(o *op) {
	x, index := o.in(0), o.in(1)
	in := o.shape(x)
	axis := o.axis(o.intAttr("axis", 0), len(in))
	if o.Tensor(index) != nil {
		t := o.constantIndices(1)
		o.result(0, o.pick(x, t.Shape, o.elements(in, axis, t)))
		return
	}
	si := o.shape(index)
	o.failIf(len(si) != len(in) || o.DType(index).IsFloat(),
		"indices of shape %v and type %v for shape %v", si, o.DType(index), in)
	starts, steps, counts := make([]int, len(in)), slices.Repeat([]int{1}, len(in)), slices.Clone(si)
	counts[axis] = in[axis]
	for i := range in {
		o.failIf(counts[i] > in[i], "indices of shape %v for shape %v", si, in)
	}
	// hot has shape (…, i, …, n); x gets the axis last, with a dimension of 1 in its old place.
	n, rank := in[axis], len(in)
	hot := o.OneHot(o.Reshape(o.fromStart(index, n), append(slices.Clone(si), 1)), rank, n)
	x = o.Slice(x, starts, steps, counts)
	wide := slices.Clone(counts)
	wide[axis] = 1
	x = o.Transpose(o.Reshape(x, append(slices.Clone(counts), 1)), toLast(rank+1, axis))
	o.result(0, o.Reduce(graph.Sum, o.Mul(o.Cast(hot, o.DType(x)), o.Reshape(x, append(wide, n))), []int{rank}, false))
}

// lowerGatherND only moves entries if the indices are constant. Otherwise the computed
// indices are combined into flat indices of a Take.
func lowerGatherND(o *op) {
	x, in := o.tensor(0)
	index, si := o.tensor(1)
	batch, last := int(o.intAttr("batch_dims", 0)), len(si)-1
	o.failIf(o.DType(index).IsFloat() || last < 0 || batch < 0 || batch > last || batch >= len(in) || !slices.Equal(si[:batch], in[:batch]),
		"indices of shape %v and type %v for shape %v, %d axes of a batch", si, o.DType(index), in, batch)
	span := si[last]
	o.failIf(span < 1 || batch+span > len(in), "indices of shape %v for shape %v", si, in)
	if t := o.Tensor(index); t != nil {
		o.result(0, o.pick(x, slices.Concat(si[:last], in[batch+span:]), o.slicesAt(in, t, batch)))
		return
	}
	o.result(0, o.takeND(x, index, batch))
}

// slicesAt returns the flat indices of the slices, of a tensor of shape in, that t
// selects (as in GatherND). t has along its last axis indices into the axes of in from
// batch on; the first batch axes of t and in are the same, and select themselves.
func (o *op) slicesAt(in []int, t *graph.Tensor, batch int) []int {
	last := t.Shape[len(t.Shape)-1]
	st := graph.Strides(in)
	rows := graph.Size(t.Shape[:len(t.Shape)-1])
	each := graph.Size(in[batch+last:])
	perBatch := rows / max(graph.Size(in[:batch]), 1)
	o.room(rows, each)
	var index []int
	for r := range rows {
		at := r / perBatch * graph.Size(in[batch:])
		for k := range last {
			at += o.axis(t.I64[r*last+k], in[batch+k]) * st[batch+k]
		}
		for e := range each {
			index = append(index, at+e)
		}
	}
	return index
}

// takeND is GatherND at computed indices.
func (o *op) takeND(x, index graph.Value, batch int) graph.Value {
	in, si := o.shape(x), o.shape(index)
	last := len(si) - 1
	span := si[last]
	rows, st := graph.Size(in[:batch+span]), graph.Strides(in[:batch+span])
	o.room(si[:batch]...)
	// The position at which each element of the batch begins.
	begin := filled(graph.Size(si[:batch]), func(i int) int64 { return int64(i * graph.Size(in[batch:batch+span])) })
	shape := slices.Concat(si[:batch], slices.Repeat([]int{1}, last-batch))
	at := o.Cast(o.Integers(shape, begin), o.DType(index))
	for k := range span {
		i := o.fromStart(o.Reshape(o.SliceAxis(index, last, k, 1, 1), si[:last]), in[batch+k])
		at = o.Add(at, o.Mul(i, o.whole(i, st[batch+k])))
	}
	return o.Take(o.Reshape(x, slices.Concat([]int{rows}, in[batch+span:])), 0, at)
}

// scatter writes each update, in order, to the flat index in targets. With reduction
// "none" it replaces the entry there, else it is combined with it.
func (o *op) scatter(x, updates graph.Value, targets []int, reduction string) graph.Value {
	in := o.shape(x)
	n := graph.Size(in)
	o.room(n)
	// Updates are applied in rounds, since several may have the same target.
	var rounds [][]int
	seen := make([]int, n)
	for u, t := range targets {
		round := seen[t]
		if reduction == "none" {
			round = 0 // the last one counts
		}
		seen[t]++
		if round == len(rounds) {
			o.failIf(round == 64, "more than %d updates of one entry", round)
			o.room(3, n)
			rounds = append(rounds, slices.Repeat([]int{-1}, n))
		}
		rounds[round][t] = u
	}
	for _, from := range rounds {
		rest := upTo(0, n) // the entries that this round does not change
		for i, u := range from {
			if u >= 0 {
				rest[i] = -1
			}
		}
		update := o.pick(updates, in, from)
		switch reduction {
		case "none":
			x = o.Add(o.pick(x, in, rest), update)
		case "add":
			x = o.Add(x, update)
		case "mul":
			ones := each(from, func(u int) int64 { return truth(u < 0) })
			one := o.Cast(o.Integers(in, ones), o.DType(x))
			x = o.Mul(x, o.Add(update, one))
		case "max":
			x = o.Max(x, o.Add(o.pick(x, in, rest), update))
		case "min":
			x = o.Min(x, o.Add(o.pick(x, in, rest), update))
		}
	}
	return x
}

func lowerScatterElements(o *op) {
	x, in := o.tensor(0)
	axis := o.axis(o.intAttr("axis", 0), len(in))
	t := o.constantIndices(1)
	o.failIf(!slices.Equal(o.shape(o.in(2)), t.Shape),
		"updates of shape %v for indices of shape %v", o.shape(o.in(2)), t.Shape)
	o.result(0, o.scatter(x, o.in(2), o.elements(in, axis, t), o.wordAttr("reduction", "none", "add", "mul", "max", "min")))
}

func lowerScatterND(o *op) {
	x, in := o.tensor(0)
	t := o.constantIndices(1)
	r := len(t.Shape)
	o.failIf(r == 0 || t.Shape[r-1] < 1 || t.Shape[r-1] > len(in), "indices of shape %v for shape %v", t.Shape, in)
	last := t.Shape[r-1]
	want := slices.Concat(t.Shape[:r-1], in[last:])
	o.failIf(!slices.Equal(o.shape(o.in(2)), want), "updates of shape %v, not %v", o.shape(o.in(2)), want)
	o.result(0, o.scatter(x, o.in(2), o.slicesAt(in, t, 0), o.wordAttr("reduction", "none", "add", "mul", "max", "min")))
}

// lowerCompress selects entries by a condition, which must be constant.
func lowerCompress(o *op) {
	x, in := o.tensor(0)
	t := o.constantInput(1, "its condition")
	var index []int
	for i := range t.Len() {
		if t.At(i) != 0 {
			index = append(index, i)
		}
	}
	if o.attrs["axis"] == nil {
		x, in = o.Reshape(x, []int{graph.Size(in)}), []int{graph.Size(in)}
	}
	o.result(0, o.Gather(x, o.axis(o.intAttr("axis", 0), len(in)), index))
}

// lowerReverseSequence reverses the beginnings of sequences, whose lengths must be
// constant.
func lowerReverseSequence(o *op) {
	x, in := o.tensor(0)
	lens := o.intsInput(1, "the lengths")
	batch, time := o.axis(o.intAttr("batch_axis", 1), len(in)), o.axis(o.intAttr("time_axis", 0), len(in))
	o.failIf(batch == time || len(lens) != in[batch], "%d lengths for shape %v", len(lens), in)
	o.room(in...)
	st := graph.Strides(in)
	index := make([]int, graph.Size(in))
	for at := range index {
		t := at / st[time] % in[time]
		n := int(lens[at/st[batch]%in[batch]])
		if n < 0 || n > in[time] {
			o.failf("lengths %v of an axis of %d", lens, in[time])
		}
		index[at] = at
		if t < n {
			index[at] += (n - 1 - 2*t) * st[time]
		}
	}
	o.result(0, o.pick(x, in, index))
}

func lowerDepthToSpace(o *op) {
	x, in := o.tensor(0)
	b := int(o.intAttr("blocksize", 0))
	mode := o.wordAttr("mode", "DCR", "CRD")
	o.failIf(len(in) != 4 || b < 1 || b > 1<<15 || in[1]%(b*b) != 0, "blocks of %d of shape %v", b, in)
	c := in[1] / (b * b)
	split, perm := []int{in[0], b, b, c, in[2], in[3]}, []int{0, 3, 4, 1, 5, 2}
	if mode == "CRD" {
		split, perm = []int{in[0], c, b, b, in[2], in[3]}, []int{0, 1, 4, 2, 5, 3}
	}
	o.result(0, o.Reshape(o.Transpose(o.Reshape(x, split), perm), []int{in[0], c, in[2] * b, in[3] * b}))
}

func lowerSpaceToDepth(o *op) {
	x, in := o.tensor(0)
	b := int(o.intAttr("blocksize", 0))
	o.failIf(len(in) != 4 || b < 1 || in[2]%b != 0 || in[3]%b != 0, "blocks of %d of shape %v", b, in)
	perm := choiceAttr(o, "mode", "DCR", map[string][]int{"DCR": {0, 3, 5, 1, 2, 4}, "CRD": {0, 1, 3, 5, 2, 4}})
	y := o.Transpose(o.Reshape(x, []int{in[0], in[1], in[2] / b, b, in[3] / b, b}), perm)
	o.result(0, o.Reshape(y, []int{in[0], in[1] * b * b, in[2] / b, in[3] / b}))
}

package onnx

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
)

// maxPoolIndices returns the greatest element y of each window, and its index in the
// tensor: that of the first of several equal elements. Among the elements that equal y,
// the least index i is found as the maximum of size − i, where size is the number of
// elements of a channel; padding counts as 0. y is computed from the same values with
// which it is then compared, so rounding does not matter.
func (o *op) maxPoolIndices(x graph.Value, w graph.Window, columnsFirst bool) (y, index graph.Value) {
	in := o.shape(x)
	spatial := in[2:]
	o.failIf(columnsFirst && len(spatial) != 2, "storage_order 1 with %d spatial axes", len(spatial))
	o.failIf(graph.Size(in) > 1<<24, "indices of the elements of shape %v are too large", in)
	dt := o.DType(x)
	if !dt.IsFloat() {
		x = o.Cast(x, graph.Float)
	}
	seen := o.patches(x, w, true)
	shape := o.shape(seen)
	last := len(shape) - 1
	out := shape[:last]
	y = o.ReduceMax(seen, []int{last}, true)
	greatest := o.Test(graph.IsNotNegative, o.Sub(seen, y))
	if y = o.Reshape(y, out); !dt.IsFloat() {
		y = o.Whole(y, dt)
	}

	size := graph.Size(spatial)
	o.room(shape[2:]...)
	at := o.patchIndices(out[2:], spatial, w)
	for i, v := range at {
		if at[i] = 0; v >= 0 {
			at[i] = int64(size) - v
		}
	}
	rank := o.Integers(append([]int{1, 1}, shape[2:]...), at)
	best := o.Reshape(o.ReduceMax(o.Mul(o.Cast(greatest, graph.Int64), rank), []int{last}, false), out)
	index = o.Sub(o.wholeNumber(size), best)
	if columnsFirst {
		h, width := o.wholeNumber(spatial[0]), o.wholeNumber(spatial[1])
		index = o.Add(o.Mul(o.Mod(index, width, false), h), o.Div(index, width))
	}
	o.room(in[:2]...)
	base := filled(in[0]*in[1], func(i int) int64 { return int64(i * size) })
	return y, o.Add(index, o.Integers(append([]int{in[0], in[1]}, slices.Repeat([]int{1}, len(spatial))...), base))
}

// patchIndices returns, for every window, the indices of its elements within a channel,
// and −1 for padding. The shape is (outputs…, window).
func (o *op) patchIndices(out, in []int, w graph.Window) []int64 {
	counts := append(slices.Clone(out), w.Kernel...)
	strides := graph.Strides(counts)
	return filled(graph.Size(counts), func(at int) (flat int64) {
		for i, d := range in {
			window, tap := at/strides[i]%counts[i], at/strides[len(in)+i]%w.Kernel[i]
			x := window*w.Strides[i] + tap*w.Dilations[i] - w.Begin[i]
			if x < 0 || x >= d {
				return -1
			}
			flat = flat*int64(d) + int64(x)
		}
		return flat
	})
}

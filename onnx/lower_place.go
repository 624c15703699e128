package onnx

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
)

// Operators that put entries in their places in a larger tensor.

// lowerCenterCropPad crops axes that are too long, and pads axes that are too short with
// zeros, on both sides.
func lowerCenterCropPad(o *op) {
	x, in := o.tensor(0)
	target := o.toShape(1, "the new shape")
	axes := o.axesNamed(len(in))
	o.failIf(len(target) != len(axes), "%d sizes for %d axes", len(target), len(axes))
	for i, axis := range axes {
		n, want := o.shape(x)[axis], target[i]
		switch {
		case want < n:
			x = o.SliceAxis(x, axis, (n-want)/2, 1, want)
		case want > n:
			begin, end := make([]int, len(in)), make([]int, len(in))
			begin[axis] = (want - n) / 2
			end[axis] = want - n - begin[axis]
			x = o.Pad(x, begin, end, 0)
		}
	}
	o.result(0, x)
}

// axesNamed returns the axes that the attribute axes lists, in its order, or all axes if
// it is absent.
func (o *op) axesNamed(rank int) []int {
	named := o.intsAttr("axes")
	if named == nil {
		return upTo(0, rank)
	}
	return o.eachAxis(named, rank)
}

// lowerCol2Im adds up overlapping blocks: each pixel is the sum of the block entries that
// lie on it.
func lowerCol2Im(o *op) {
	x := o.in(0)
	in, image, block := o.shape(x), o.toShape(1, "the image's shape"), o.toShape(2, "the block's shape")
	r := len(image)
	taps := graph.Size(block)
	o.failIf(len(in) != 3 || r < 1 || len(block) != r || taps == 0 || in[1]%taps != 0 || graph.Size(image) == 0,
		"blocks of shape %v in an input of shape %v for an image of shape %v", block, in, image)
	strides, dilations, pads := o.spatial("strides", r, 1, 1), o.spatial("dilations", r, 1, 1), o.spatial("pads", 2*r, 0, 0)
	counts := make([]int, r)
	for a := range counts {
		reach := image[a] + pads[a] + pads[r+a] - (block[a]-1)*dilations[a] - 1
		o.failIf(reach < 0, "blocks of shape %v are larger than the image of shape %v", block, image)
		counts[a] = reach/strides[a] + 1
	}
	o.failIf(graph.Size(counts) != in[2], "%d blocks, but an image of shape %v has %v", in[2], image, counts)
	pixels := graph.Size(image)
	o.room(pixels, taps)
	// For each pixel and each place in a block, the block that has this place on the
	// pixel.
	index := make([]int, pixels*taps)
	ofPixel, ofTap, ofBlock := graph.Strides(image), graph.Strides(block), graph.Strides(counts)
	for i := range index {
		pixel, tap := i/taps, i%taps
		at := 0
		for a := range image {
			from := pixel/ofPixel[a]%image[a] + pads[a] - tap/ofTap[a]%block[a]*dilations[a]
			if from < 0 || from%strides[a] != 0 || from/strides[a] >= counts[a] {
				at = -1
				break
			}
			at += from / strides[a] * ofBlock[a]
		}
		if at >= 0 {
			at += tap * in[2]
		}
		index[i] = at
	}
	n, c := in[0], in[1]/taps
	y := o.Gather(o.Reshape(x, []int{n, c, taps * in[2]}), 2, index)
	y = o.Reduce(graph.Sum, o.Reshape(y, []int{n, c, pixels, taps}), []int{3}, false)
	o.result(0, o.Reshape(y, slices.Concat([]int{n, c}, image)))
}

// lowerMaxUnpool puts entries where MaxPool found them, and zeros elsewhere. The indices
// must be constant; they count in the whole tensor.
func lowerMaxUnpool(o *op) {
	x, in := o.tensor(0)
	t := o.constantIndices(1)
	r := len(in) - 2
	o.failIf(r < 1 || !slices.Equal(t.Shape, in), "input and indices have shapes %v and %v", in, t.Shape)
	kernel := o.kernel(r)
	strides, pads := o.spatial("strides", r, 1, 1), o.spatial("pads", 2*r, 0, 0)
	out := slices.Clone(in)
	for a := range r {
		out[2+a] = (in[2+a]-1)*strides[a] - pads[a] - pads[r+a] + kernel[a]
	}
	o.failIf(o.has(2) && !slices.Equal(o.toShape(2, "the new shape"), out),
		"an output_shape other than %v: the ONNX reference counts its indices in that shape, and ONNX Runtime in the other", out)
	o.room(out...)
	index := slices.Repeat([]int{-1}, graph.Size(out))
	for i, at := range t.I64 {
		if at < 0 || at >= int64(len(index)) {
			o.failf("index %d of shape %v", at, out)
		}
		index[at] = i
	}
	o.result(0, o.pick(x, out, index))
}

// lowerTensorScatter writes an update into a cache of keys or values, from a constant
// place on for each sample.
func lowerTensorScatter(o *op) {
	cache, update := o.in(0), o.in(1)
	in, part := o.shape(cache), o.shape(update)
	axis := o.axis(o.intAttr("axis", -2), len(in))
	mode := o.wordAttr("mode", "linear", "circular")
	fits := axis > 0 && len(part) == len(in) && part[axis] <= in[axis]
	for a := range in {
		fits = fits && (a == axis || part[a] == in[a])
	}
	o.failIf(!fits, "an update of shape %v along axis %d of a cache of shape %v", part, axis, in)
	starts := o.intsOr(2, "where it writes", make([]int64, in[0]))
	o.failIf(len(starts) != in[0], "%d places for %d samples", len(starts), in[0])
	o.room(in[0], in[axis])
	// Cache and update are joined; index says which of their entries each entry of the
	// result is.
	both := o.Concat(axis, cache, update)
	samples := make([]graph.Value, in[0])
	for b, start := range starts {
		index := upTo(0, in[axis])
		for j := range part[axis] {
			at := start + int64(j)
			if mode == "circular" {
				at = (at%int64(in[axis]) + int64(in[axis])) % int64(in[axis])
			}
			if at < 0 || at >= int64(in[axis]) {
				o.failf("writes at %d of %d", at, in[axis])
			}
			index[at] = in[axis] + j
		}
		samples[b] = o.Gather(o.SliceAxis(both, 0, b, 1, 1), axis, index)
	}
	o.result(0, o.Concat(0, samples...))
}

package onnx

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
)

// resize is what Resize says of every axis.
type resize struct {
	mode, coordinates, nearest string
	cubic                      float64
	excludeOutside, antialias  bool
}

// lowerResize interpolates axis by axis. Each axis is a Gather, or a product with the
// matrix of its coefficients. Formulas are those of
// https://onnx.ai/onnx/operators/onnx__Resize.html.
func lowerResize(o *op) {
	o.arity(1, 4)
	x := o.in(0)
	in := o.shape(x)
	r := resize{
		mode: o.strAttr("mode", "nearest"), coordinates: o.strAttr("coordinate_transformation_mode", "half_pixel"),
		nearest: o.strAttr("nearest_mode", "round_prefer_floor"), cubic: o.floatAttr("cubic_coeff_a", -0.75),
		excludeOutside: o.flagAttr("exclude_outside", false), antialias: o.flagAttr("antialias", false),
	}
	policy := o.strAttr("keep_aspect_ratio_policy", "stretch")
	beyond := o.floatAttr("extrapolation_value", 0)
	scaleInput, sizeInput, roiInput := 2, 3, 1
	if o.opset < 11 { // Upsample, or Resize 10
		r.coordinates, r.nearest = "asymmetric", "floor"
		scaleInput, sizeInput, roiInput = 1, -1, -1
	}
	if r.mode == "bilinear" || r.mode == "trilinear" {
		r.mode = "linear"
	}
	var axes []int
	if list := o.intsAttr("axes"); list != nil {
		for _, a := range list {
			axes = append(axes, o.axis(a, len(in)))
		}
	} else {
		for i := range in {
			axes = append(axes, i)
		}
	}
	var scales []float64
	switch {
	case o.opset < 7:
		scales = o.upsampleScales(len(in))
	case o.attrs["scales"] != nil:
		scales = o.floatsAttr("scales")
	case o.has(scaleInput) && len(o.floatsInput(scaleInput, "the scales")) > 0:
		scales = o.floatsInput(scaleInput, "the scales")
	}
	if slices.Contains(in, 0) {
		o.failf("shape %v has no elements", in)
	}
	out := slices.Clone(in)
	size := make([]float64, len(axes)) // that scales were taken from
	switch {
	case scales != nil:
		if len(scales) != len(axes) {
			o.failf("%d scales for %d axes", len(scales), len(axes))
		}
		for k, a := range axes {
			if !(scales[k] > 0) || scales[k]*float64(in[a]) > graph.MaxActivations {
				o.failf("scales %v", scales)
			}
			size[k] = scales[k] * float64(in[a])
			out[a] = int(math.Floor(size[k]))
		}
	case sizeInput > 0 && o.has(sizeInput):
		sizes := o.intsInput(sizeInput, "the sizes")
		if len(sizes) != len(axes) {
			o.failf("%d sizes for %d axes", len(sizes), len(axes))
		}
		scales = make([]float64, len(axes))
		for k, a := range axes {
			if sizes[k] < 1 || sizes[k] > graph.MaxActivations {
				o.failf("sizes %v", sizes)
			}
			scales[k] = float64(sizes[k]) / float64(in[a])
			out[a], size[k] = int(sizes[k]), float64(sizes[k])
		}
		if policy != "stretch" {
			s := slices.Min(scales)
			if policy == "not_smaller" {
				s = slices.Max(scales)
			}
			for k, a := range axes {
				scales[k] = s
				size[k] = s * float64(in[a])
				out[a] = int(math.Round(size[k]))
			}
		}
	default:
		o.failf("has neither scales nor sizes")
	}
	var roi []float64
	if roiInput > 0 && o.has(roiInput) && r.coordinates == "tf_crop_and_resize" {
		if roi = o.floatsInput(roiInput, "the region"); len(roi) != 2*len(axes) {
			o.failf("a region of %d numbers for %d axes", len(roi), len(axes))
		}
	}
	outside := make([][]bool, len(in))
	for k, a := range axes {
		from, to := 0.0, 1.0
		if roi != nil {
			from, to = roi[k], roi[len(axes)+k]
		}
		if out[a] == in[a] && scales[k] == 1 && roi == nil {
			continue
		}
		rows, off := o.coefficients(r, in[a], out[a], scales[k], size[k], from, to)
		outside[a] = off
		x = o.alongAxis(x, a, rows)
	}
	o.result(0, o.replaceOutside(x, outside, beyond))
}

// coefficients returns for each output along an axis of n its weights of the inputs,
// and whether it is beyond them.
func (o *op) coefficients(r resize, n, outs int, scale, size, from, to float64) (rows [][]float64, outside []bool) {
	o.room(outs, n+4)
	rows, outside = make([][]float64, outs), make([]bool, outs)
	for j := range rows {
		rows[j] = make([]float64, n)
		y, at := float64(j), 0.0
		switch r.coordinates {
		case "half_pixel":
			at = (y+0.5)/scale - 0.5
		case "half_pixel_symmetric":
			at = float64(float64(n)/2*(1-float64(outs)/size)) + (y+0.5)/scale - 0.5
		case "pytorch_half_pixel":
			at = (y+0.5)/scale - 0.5
			if size == 1 {
				at = -0.5
			}
		case "align_corners":
			if size != 1 {
				at = y * float64(n-1) / (size - 1)
			}
		case "asymmetric":
			at = y / scale
		case "tf_crop_and_resize":
			if size == 1 {
				at = (to - from) * float64(n-1) / 2
			} else {
				at = y * (to - from) * float64(n-1) / (size - 1)
			}
			at += float64(from * float64(n-1))
			outside[j] = at < 0 || at > float64(n-1)
		default:
			o.failf("coordinate_transformation_mode %s is not known", graph.Quote(r.coordinates))
		}
		floor := math.Floor(at)
		ratio := at - floor // in (0, 1]
		first := int(floor)
		if ratio == 0 {
			ratio, first = 1, first-1
		}
		if r.mode == "nearest" {
			rows[j][min(max(o.nearest(r.nearest, at), 0), n-1)] = 1
			continue
		}
		weights, start := o.kernelAt(r, ratio, scale)
		sum := 0.0
		for i, w := range weights {
			k := first + start + i
			if r.excludeOutside && (k < 0 || k >= n) {
				continue
			}
			sum += w
			rows[j][min(max(k, 0), n-1)] += w
		}
		if r.excludeOutside || r.antialias {
			for i := range rows[j] {
				rows[j][i] /= sum
			}
		}
	}
	return rows, outside
}

func (o *op) nearest(mode string, at float64) int {
	switch mode {
	case "round_prefer_floor":
		return int(math.Ceil(at - 0.5))
	case "round_prefer_ceil":
		return int(math.Floor(at + 0.5))
	case "floor":
		return int(math.Floor(at))
	case "ceil":
		return int(math.Ceil(at))
	}
	o.failf("nearest_mode %s is not known", graph.Quote(mode))
	return 0
}

// kernelAt returns the weights of the inputs around a point that is ratio of the way
// from one input to the next. The first weight is that of the input start places to
// the right of the left one.
func (o *op) kernelAt(r resize, ratio, scale float64) (weights []float64, start int) {
	if !r.antialias || scale >= 1 {
		scale = 1
	}
	reach := 0
	var kernel func(x float64) float64
	switch r.mode {
	case "linear":
		reach = 1
		kernel = func(x float64) float64 { return max(0, 1-x) }
	case "cubic":
		reach = 2
		kernel = func(x float64) float64 { return cubicKernel(r.cubic, x) }
	default:
		o.failf("mode %s is not known", graph.Quote(r.mode))
	}
	start = int(math.Floor(-float64(reach)/scale)) + 1
	for i := start; i <= 1-start; i++ {
		weights = append(weights, kernel(math.Abs(scale*(float64(i)-ratio))))
	}
	return weights, start
}

// cubicKernel is the weight of an entry at a distance of cubic interpolation with the
// parameter a (Keys, 10.1109/TASSP.1981.1163711).
func cubicKernel(a, x float64) float64 {
	switch {
	case x <= 1:
		return float64((float64((a+2)*x)-(a+3))*x*x) + 1
	case x < 2:
		return a * (float64((float64((x-5)*x)+8)*x) - 4)
	}
	return 0
}

// alongAxis multiplies an axis by rows of weights: with a Gather where each row is
// one entry.
func (o *op) alongAxis(x graph.Value, axis int, rows [][]float64) graph.Value {
	index := make([]int, len(rows))
	for j, row := range rows {
		index[j] = slices.Index(row, 1)
		for i, w := range row {
			if w != 0 && i != index[j] {
				index[j] = -1
			}
		}
	}
	if !slices.Contains(index, -1) {
		return o.Gather(x, axis, index)
	}
	n := len(rows[0])
	w := make([]float32, n*len(rows))
	for j, row := range rows {
		for i, v := range row {
			w[i*len(rows)+j] = float32(v)
		}
	}
	if !o.DType(x).IsFloat() {
		o.failf("interpolation of type %v", o.DType(x))
	}
	perm := toLast(len(o.shape(x)), axis)
	matrix := o.Table(&graph.Tensor{Shape: []int{n, len(rows)}, DType: graph.Float, F32: w})
	return o.Transpose(o.MatMul(o.Transpose(x, perm), matrix), perm)
}

// replaceOutside puts a value where the index along some axis is beyond the inputs.
func (o *op) replaceOutside(x graph.Value, outside [][]bool, value float64) graph.Value {
	shape := slices.Clone(o.shape(x))
	any := false
	for i, off := range outside {
		if !slices.Contains(off, true) {
			shape[i] = 1
			continue
		}
		any = true
	}
	if !any {
		return x
	}
	o.room(shape...)
	mask := make([]int64, graph.Size(shape))
	for at := range mask {
		rest := at
		for i := len(shape) - 1; i >= 0; i-- {
			if shape[i] > 1 || len(outside[i]) == 1 {
				if outside[i][rest%shape[i]] {
					mask[at] = 1
				}
			}
			rest /= shape[i]
		}
	}
	cond := o.Table(&graph.Tensor{Shape: shape, DType: graph.Bool, I64: mask})
	return o.Where(cond, o.Number(value), x)
}

// floatsAttr returns a list of floats; nil if there is none.
func (o *op) floatsAttr(name string) []float64 {
	a := o.attrs[name]
	if a == nil {
		return nil
	}
	delete(o.attrs, name)
	out := make([]float64, len(a.Floats))
	for i, v := range a.Floats {
		if f := float64(v); f-f != 0 {
			o.failf("attribute %s has %v", name, f)
		}
		out[i] = float64(v)
	}
	return out
}

// floatsInput returns the elements of constant input i.
func (o *op) floatsInput(i int, what string) []float64 {
	v := o.in(i)
	t := o.Tensor(v)
	if t == nil {
		o.failf("%s must be constant, but %s", what, o.Depends(v))
	}
	return t.Float64s()
}

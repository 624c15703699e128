package onnx

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// resize has the attributes of a Resize that apply to every axis.
type resize struct {
	mode, coordinates, nearest string
	cubic                      float64 // the parameter a of the cubic kernel
	excludeOutside, antialias  bool
}

// resizedAxis is an axis that Resize may change.
type resizedAxis struct {
	axis, in, out int // the axis, and its length before and after
	scale         float64
	size          float64 // the new length before it was rounded to out
	from, to      float64 // for tf_crop_and_resize, the part of the input that is read, as fractions of the axis
}

// lowerResize interpolates axis by axis. Each axis is a Gather, or a product with the
// matrix of its coefficients. Formulas are those of
// https://onnx.ai/onnx/operators/onnx__Resize.html.
func lowerResize(o *op) {
	x, in := o.tensor(0)
	r := resize{
		mode: o.strAttr("mode", "nearest"), coordinates: o.strAttr("coordinate_transformation_mode", "half_pixel"),
		nearest: o.strAttr("nearest_mode", "round_prefer_floor"), cubic: o.floatAttr("cubic_coeff_a", -0.75),
		excludeOutside: o.flagAttr("exclude_outside", false), antialias: o.flagAttr("antialias", false),
	}
	beyond := o.floatAttr("extrapolation_value", 0)
	scaleInput, sizeInput, roiInput := 2, 3, 1
	if o.opset < 11 { // Upsample, or Resize 10
		r.coordinates, r.nearest = "asymmetric", "simple"
		scaleInput, sizeInput, roiInput = 1, -1, -1
	}
	if r.mode == "bilinear" || r.mode == "trilinear" {
		r.mode = "linear"
	}
	axes := o.resizedAxes(in, scaleInput, sizeInput)
	crop := roiInput > 0 && o.has(roiInput) && r.coordinates == "tf_crop_and_resize"
	if crop {
		roi := o.floatsInput(roiInput, "the region")
		o.failIf(len(roi) != 2*len(axes), "a region of %d numbers for %d axes", len(roi), len(axes))
		for k := range axes {
			axes[k].from, axes[k].to = roi[k], roi[len(axes)+k]
		}
	}
	outside := make([][]bool, len(in))
	for _, a := range axes {
		if a.out == a.in && a.scale == 1 && !crop {
			continue
		}
		var rows [][]float64
		rows, outside[a.axis] = o.coefficients(r, a)
		x = o.alongAxis(x, a.axis, rows)
	}
	o.result(0, o.replaceOutside(x, outside, beyond))
}

// resizedAxes returns the axes with their new sizes, which inputs or attributes give as
// scales or sizes. sizeInput is negative if the operator has no sizes.
func (o *op) resizedAxes(in []int, scaleInput, sizeInput int) []resizedAxis {
	policy := o.strAttr("keep_aspect_ratio_policy", "stretch")
	list := o.axesNamed(len(in))
	var scales []float64
	switch {
	case o.opset < 7:
		scales = o.upsampleScales(len(in))
	case o.attrs["scales"] != nil:
		scales = o.floatsAttr("scales")
	case o.has(scaleInput) && len(o.floatsInput(scaleInput, "the scales")) > 0:
		scales = o.floatsInput(scaleInput, "the scales")
	}
	o.failIf(slices.Contains(in, 0), "shape %v has no elements", in)
	axes := each(list, func(a int) resizedAxis { return resizedAxis{axis: a, in: in[a], from: 0, to: 1} })
	switch {
	case scales != nil:
		o.resizeBy(axes, scales)
	case sizeInput > 0 && o.has(sizeInput):
		o.resizeTo(axes, o.intsInput(sizeInput, "the sizes"), policy)
	default:
		o.failf("has neither scales nor sizes")
	}
	return axes
}

// resizeBy sets the axes' new sizes from scales. Whole ones are those of products in float32, in
// which 40·0.7 is 28, and not a little less.
func (o *op) resizeBy(axes []resizedAxis, scales []float64) {
	o.failIf(len(scales) != len(axes), "%d scales for %d axes", len(scales), len(axes))
	for k := range axes {
		a := &axes[k]
		a.scale, a.size = scales[k], scales[k]*float64(a.in)
		o.failIf(!(a.scale > 0) || a.size > graph.MaxActivations, "scales %v", scales)
		a.out = int(float32(a.size))
		a.size = max(a.size, float64(a.out))
	}
}

// resizeTo sets the axes' new sizes. Unless the policy is stretch, which takes the sizes
// as they are, all axes get the same scale, so that proportions stay: the least of their
// scales, or the greatest if the policy is not_smaller.
func (o *op) resizeTo(axes []resizedAxis, sizes []int64, policy string) {
	o.failIf(len(sizes) != len(axes), "%d sizes for %d axes", len(sizes), len(axes))
	scales := make([]float64, len(axes))
	for k := range axes {
		a := &axes[k]
		o.failIf(sizes[k] < 1 || sizes[k] > graph.MaxActivations, "sizes %v", sizes)
		scales[k] = float64(sizes[k]) / float64(a.in)
		a.out, a.size, a.scale = int(sizes[k]), float64(sizes[k]), scales[k]
	}
	if policy == "stretch" {
		return
	}
	s := slices.Min(scales)
	if policy == "not_smaller" {
		s = slices.Max(scales)
	}
	for k := range axes {
		a := &axes[k]
		a.scale, a.size = s, s*float64(a.in)
		a.out = int(math.Round(a.size))
	}
}

// coordinates has a function for each coordinate_transformation_mode. It returns the place
// of output y along an axis, in units of the input's entries, computed in numbers of type T.
func coordinates[T float32 | float64]() map[string]func(a resizedAxis, y T) T {
	return map[string]func(a resizedAxis, y T) T{
		"half_pixel": func(a resizedAxis, y T) T { return (y+0.5)/T(a.scale) - 0.5 },
		"half_pixel_symmetric": func(a resizedAxis, y T) T {
			moved := T(a.in) / 2 * (1 - T(a.out)/T(a.size))
			return T(float64(moved) + (float64(y)+0.5)/float64(T(a.scale)) - 0.5) // rounded once
		},
		"pytorch_half_pixel": func(a resizedAxis, y T) T {
			if a.out == 1 {
				return 0
			}
			return (y+0.5)/T(a.scale) - 0.5
		},
		"align_corners": func(a resizedAxis, y T) T {
			if a.size == 1 {
				return 0
			}
			return y * T(a.in-1) / (T(a.size) - 1)
		},
		"asymmetric": func(a resizedAxis, y T) T { return y / T(a.scale) },
		"tf_crop_and_resize": func(a resizedAxis, y T) T {
			from, to, last := T(a.from), T(a.to), T(a.in-1)
			at := (to - from) * last / 2
			if a.size != 1 {
				at = y * (to - from) * last / (T(a.size) - 1)
			}
			return at + T(from*last)
		},
	}
}

// place returns the function that says where an output lies along an axis. The nearest entry is
// that of places in float32, in which other runtimes compute: which one it is may depend on their
// rounding, as of output 3 for a scale of 0.6.
func (r resize) place(o *op) func(a resizedAxis, y float64) float64 {
	const name = "coordinate_transformation_mode"
	if r.mode != "nearest" {
		return choice(o, name, r.coordinates, coordinates[float64]())
	}
	place := choice(o, name, r.coordinates, coordinates[float32]())
	return func(a resizedAxis, y float64) float64 { return float64(place(a, float32(y))) }
}

// coefficients returns, for each output along an axis, its weights of the inputs, and
// whether its place is outside of the inputs, which only tf_crop_and_resize
// distinguishes.
func (o *op) coefficients(r resize, a resizedAxis) (rows [][]float64, outside []bool) {
	place := r.place(o)
	o.room(a.out, a.in+4)
	rows, outside = make([][]float64, a.out), make([]bool, a.out)
	for j := range rows {
		rows[j] = make([]float64, a.in)
		at := place(a, float64(j))
		outside[j] = r.coordinates == "tf_crop_and_resize" && (at < 0 || at > float64(a.in-1))
		if r.mode == "nearest" {
			mode := r.nearest
			if mode == "simple" { // before operator set 11, which has modes
				if mode = "floor"; a.scale < 1 {
					mode = "ceil"
				}
			}
			entry := choice(o, "nearest_mode", mode, nearest)(at)
			rows[j][min(max(int(entry), 0), a.in-1)] = 1
		} else {
			o.interpolate(r, rows[j], at, a.scale)
		}
	}
	return rows, outside
}

// interpolate sets row to the weights of the inputs for an output at place at.
func (o *op) interpolate(r resize, row []float64, at, scale float64) {
	floor := math.Floor(at)
	ratio := at - floor // in (0, 1], as 0 is changed to 1 below
	first := int(floor)
	if ratio == 0 {
		ratio, first = 1, first-1
	}
	weights, start := o.kernelAt(r, ratio, scale)
	sum := 0.0
	for i, w := range weights {
		k := first + start + i
		if r.excludeOutside && (k < 0 || k >= len(row)) {
			continue
		}
		sum += w
		row[min(max(k, 0), len(row)-1)] += w
	}
	if r.excludeOutside || r.antialias {
		for i := range row {
			row[i] /= sum
		}
	}
}

// nearest has a function for each nearest_mode. It returns the entry that counts as
// nearest to a place.
var nearest = map[string]func(at float64) float64{
	"round_prefer_floor": func(at float64) float64 { return math.Ceil(at - 0.5) }, "floor": math.Floor,
	"round_prefer_ceil": func(at float64) float64 { return math.Floor(at + 0.5) }, "ceil": math.Ceil,
}

// kernelAt returns the weights of the inputs around a point that is ratio of the way from
// one input to the next. The first weight belongs to the input start places after the
// left one (start is negative or 0). With antialias the kernel is widened by 1/scale if
// scale < 1.
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

// cubicKernel is the weight, in cubic interpolation with parameter a, of an entry at
// distance x ≥ 0 (Keys, 10.1109/TASSP.1981.1163711).
func cubicKernel(a, x float64) float64 {
	switch {
	case x <= 1:
		return float64((float64((a+2)*x)-(a+3))*x*x) + 1
	case x < 2:
		return a * (float64((float64((x-5)*x)+8)*x) - 4)
	}
	return 0
}

// alongAxis replaces the entries along an axis by their sums with each row of weights. If
// each row selects one entry, it is a Gather.
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
	w := filled(n*len(rows), func(at int) float32 { return float32(rows[at%len(rows)][at/len(rows)]) })
	o.failIf(!o.DType(x).IsFloat(), "interpolation of type %v", o.DType(x))
	perm := toLast(len(o.shape(x)), axis)
	matrix := o.Table(&graph.Tensor{Shape: []int{n, len(rows)}, DType: graph.Float, F32: w, Public: true})
	return o.Transpose(o.MatMul(o.Transpose(x, perm), matrix), perm)
}

// replaceOutside puts a value where outside holds for the index along some axis.
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
	cond := o.truths(shape, func(at int) bool {
		is := false
		for i := len(shape) - 1; i >= 0; i-- {
			is = is || (shape[i] > 1 || len(outside[i]) == 1) && outside[i][at%shape[i]]
			at /= shape[i]
		}
		return is
	})
	return o.Where(cond, o.Number(value), x)
}

// floatsAttr returns an attribute that is a list of floats; nil if it is absent.
func (o *op) floatsAttr(name string) []float64 {
	a := o.attr(name, onnxpb.AttributeProto_FLOATS)
	if a == nil {
		return nil
	}
	if i := graph.FirstNonFinite(a.Floats); i >= 0 {
		o.failf("attribute %s has %v", name, a.Floats[i])
	}
	return converted[float64](a.Floats)
}

// floatsInput returns the elements of constant input i.
func (o *op) floatsInput(i int, what string) []float64 {
	return o.constantInput(i, what).Float64s()
}

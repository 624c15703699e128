package onnx

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/elementary"
)

// maxFourier bounds the entries of the matrix of a transform.
const maxFourier = 1 << 24

// fourier is a discrete Fourier transform, computed as a product with a constant matrix.
type fourier struct {
	length   int  // number of points of the transform; a shorter signal is filled up with zeros, a longer one cut off
	inverse  bool // the inverse transform, which divides by the length
	oneSided bool // the spectrum is that of real numbers, of which one half is enough: the result, or the input if inverse is set
}

// bins returns the number of entries of the spectrum.
func (f fourier) bins() int {
	if f.oneSided {
		return f.length/2 + 1
	}
	return f.length
}

// matrix returns the matrix of the transform, with a window's weights multiplied in, and
// the number of results and of their parts. Each of the given points has 1 part if it is
// real, or 2 if it is complex. Rows are the parts of the points, columns are the parts of
// the results.
func (f fourier) matrix(points, parts int, weights []float64) (m []float32, results, resultParts int) {
	results, resultParts = f.bins(), 2
	if f.inverse {
		if results = f.length; f.oneSided {
			resultParts = 1
		}
	}
	m = make([]float32, points*parts*results*resultParts)
	for t := range points {
		scale := 1.0
		if f.inverse {
			scale = 1 / float64(f.length)
			if f.oneSided && t > 0 && 2*t != f.length { // it also stands for its complex conjugate, entry length − t
				scale *= 2
			}
		}
		if weights != nil {
			scale *= weights[t]
		}
		for k := range results {
			angle := 2 * math.Pi * float64(t*k%f.length) / float64(f.length)
			re, im := float64(scale*elementary.Cos(angle)), float64(-scale*elementary.Sin(angle))
			if f.inverse {
				im = -im
			}
			set := func(part, result int, v float64) {
				if result < resultParts {
					m[((t*parts+part)*results+k)*resultParts+result] = float32(v)
				}
			}
			set(0, 0, re)
			set(0, 1, im)
			if parts == 2 { // the imaginary part: times i
				set(1, 0, -im)
				set(1, 1, re)
			}
		}
	}
	return m, results, resultParts
}

// transform applies f to the last two axes of x, which are the points and their parts.
func (o *op) transform(f fourier, x graph.Value, weights []float64) graph.Value {
	in := o.shape(x)
	n := len(in)
	points, parts := in[n-2], in[n-1]
	o.failIf(parts != 1 && parts != 2,
		"its input of shape %v is neither real nor complex: the last axis has 1 or 2 elements", in)
	o.failIf(f.length < 1 || f.length > maxFourier || points > maxFourier/(4*f.length),
		"a transform of %d points to length %d is too large", points, f.length)
	o.failIf(f.oneSided && !f.inverse && parts == 2, "onesided of complex numbers, whose spectrum has no symmetry")
	used := f.length
	if f.inverse {
		used = f.bins()
	}
	if points > used {
		x, points = o.SliceAxis(x, n-2, 0, 1, used), used
	}
	o.room(4, points, f.length)
	m, results, resultParts := f.matrix(points, parts, weights)
	x = o.Reshape(x, append(slices.Clone(in[:n-2]), points*parts))
	y := o.MatMul(x, o.Table(&graph.Tensor{Shape: []int{points * parts, results * resultParts}, DType: graph.Float, F32: m, Public: weights == nil}))
	return o.Reshape(y, append(slices.Clone(in[:n-2]), results, resultParts))
}

// lowerDFT transforms along an axis, which is an attribute before operator set 20.
func lowerDFT(o *op) {
	x, in := o.ranked(0, 2)
	at := int64(-2)
	if o.opset < 20 {
		at = o.intAttr("axis", 1)
	} else if o.has(2) {
		at = int64(o.scalarInput(2, "the axis"))
	}
	axis := o.axis(at, len(in))
	o.failIf(axis == len(in)-1, "axis %d is that of real and imaginary parts", at)
	f := fourier{length: in[axis], inverse: o.flagAttr("inverse", false), oneSided: o.flagAttr("onesided", false)}
	if f.inverse && f.oneSided {
		f.length = 2 * (in[axis] - 1)
	}
	f.length = int(o.scalarOr(1, "the length", float64(f.length)))
	perm := append(toLast(len(in)-1, axis), len(in)-1) // its own inverse
	o.result(0, o.Transpose(o.transform(f, o.Transpose(x, perm), nil), perm))
}

// lowerSTFT transforms frames of a signal.
func lowerSTFT(o *op) {
	x, in := o.tensor(0)
	if len(in) == 2 {
		x, in = o.Reshape(x, append(slices.Clone(in), 1)), append(slices.Clone(in), 1)
	}
	o.failIf(len(in) != 3, "its signal has shape %v", in)
	step := int(o.scalarInput(1, "the frames' step"))
	var weights []float64
	length := 0
	if o.has(2) {
		t := o.constantInput(2, "the window")
		weights, length = t.Float64s(), t.Len()
	}
	length = int(o.scalarOr(3, "the frames' length", float64(length)))
	o.failIf(length < 1 || length > in[1] || step < 1 || weights != nil && len(weights) != length,
		"frames of %d with a window of %d, each %d after the other, of a signal of %d", length, len(weights), step, in[1])
	frames := (in[1]-length)/step + 1
	o.room(frames, length)
	index := filled(frames*length, func(at int) int { return at/length*step + at%length })
	x = o.Reshape(o.Gather(x, 1, index), []int{in[0], frames, length, in[2]})
	o.result(0, o.transform(fourier{length: length, oneSided: o.flagAttr("onesided", true)}, x, weights))
}

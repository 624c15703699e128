package onnx

import (
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/elementary"
)

// Constants for the analysis of sound.

// windowed is the lowering of an operator that makes a window function, a sum of cosines:
// its value at t is Σ_i c[i]·cos(2πi·t/length).
func windowed(c ...float64) func(*op) {
	return func(o *op) {
		n := int(o.scalarInput(0, "the length"))
		o.failIf(n < 1 || n > graph.MaxActivations, "a window of length %d", n)
		o.room(n)
		length := float64(n)
		if !o.flagAttr("periodic", true) {
			length = max(length-1, 1)
		}
		v := make([]float64, n)
		for t := range v {
			for i, a := range c {
				v[t] += float64(a * elementary.Cos(2*math.Pi*float64(i)*float64(t)/length))
			}
		}
		o.result(0, o.Cast(o.numbers([]int{n}, v), graph.DType(o.intAttr("output_datatype", int64(graph.Float)))))
	}
}

// lowerMelWeightMatrix makes a matrix with a column for each band, which has the values
// of a triangle over the bins of a spectrum. The triangles' corners are equally far apart
// on the mel scale.
func lowerMelWeightMatrix(o *op) {
	bands, length := int(o.scalarInput(0, "the number of bands")), int(o.scalarInput(1, "the transform's length"))
	rate := o.scalarInput(2, "the sample rate")
	lowest, highest := o.scalarInput(3, "the lowest frequency"), o.scalarInput(4, "the highest frequency")
	bins := length/2 + 1
	o.failIf(bands < 1 || length < 1 || bands > maxFourier/bins || !(rate > 0) || !(lowest >= 0) || !(highest > lowest),
		"%d bands from %g to %g Hz of a transform of length %d at %g Hz", bands, lowest, highest, length, rate)
	o.room(bins+1, bands+2)
	const ln10 = 2.302585092994046
	mel := func(hertz float64) float64 { return float64(2595 / ln10 * elementary.Log1p(hertz/700)) }
	step := (mel(highest) - mel(lowest)) / float64(bands+2)
	corners := make([]int, bands+2)
	for i := range corners {
		hertz := 700 * elementary.Expm1((float64(float64(i)*step)+mel(lowest))*ln10/2595)
		corners[i] = int(math.Floor(float64(float64(length+1)*hertz) / rate))
		o.failIf(corners[i] >= bins, "its highest frequency is beyond half the sample rate")
	}
	m := make([]float64, bins*bands)
	for i := range bands {
		left, top, right := corners[i], corners[i+1], corners[i+2]
		for j := left; j <= top; j++ {
			m[j*bands+i] = 1
			if top > left {
				m[j*bands+i] = float64(j-left) / float64(top-left)
			}
		}
		for j := top; j < right; j++ {
			m[j*bands+i] = float64(right-j) / float64(right-top)
		}
	}
	o.result(0, o.Cast(o.numbers([]int{bins, bands}, m), graph.DType(o.intAttr("output_datatype", int64(graph.Float)))))
}

package report

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"

	"github.com/prove-model/prove-model/graph"
)

// layout says how a picture is stored in an array. pixel is the step from one pixel to
// the next, and plane the step from one channel to the next.
type layout struct{ channels, height, width, pixel, plane int }

// layoutOf returns the layout of pictures in an array; ok is false if its shape is not one
// of pictures.
func layoutOf(shape []int) (p layout, ok bool) {
	n := len(shape)
	if n < 3 {
		return layout{}, false
	}
	wide := func(h, w int) bool { return h >= 4 && w >= 4 && h <= 4096 && w <= 4096 }
	few := func(c int) bool { return c == 1 || c == 3 }
	a, b, c := shape[n-3], shape[n-2], shape[n-1]
	switch {
	case few(a) && wide(b, c):
		return layout{channels: a, height: b, width: c, pixel: 1, plane: b * c}, true
	case few(c) && wide(a, b):
		return layout{height: a, width: b, channels: c, pixel: c, plane: 1}, true
	}
	return layout{}, false
}

// Pictures returns the pictures in an array as PNG files; the least value of the array is
// black and its greatest is white. Pictures have one or three channels, whose axis is the last
// one or comes before height and width. Pictures returns nil for other shapes.
func Pictures(shape []int, values []float64) [][]byte {
	p, ok := layoutOf(shape)
	if !ok || len(values) != graph.Size(shape) {
		return nil
	}
	size := p.channels * p.height * p.width
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		low, high = math.Min(low, v), math.Max(high, v)
	}
	level := func(v float64) uint8 {
		if !(high > low) || math.IsInf(high-low, 0) {
			return 128
		}
		return uint8(math.Round(255 * (v - low) / (high - low)))
	}
	var out [][]byte
	for at := 0; at < len(values) && len(out) < mostRows; at += size {
		img := image.NewNRGBA(image.Rect(0, 0, p.width, p.height))
		for i := range p.height * p.width {
			var c [3]uint8
			for k := range c {
				c[k] = level(values[at+i*p.pixel+min(k, p.channels-1)*p.plane])
			}
			img.SetNRGBA(i%p.width, i/p.width, color.NRGBA{c[0], c[1], c[2], 255})
		}
		var b bytes.Buffer
		if err := png.Encode(&b, img); err != nil {
			return nil // a size that PNG does not allow
		}
		out = append(out, b.Bytes())
	}
	return out
}

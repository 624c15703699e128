package report

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"

	"github.com/prove-model/prove-model/graph"
)

// Pictures returns the pictures in an array as PNG files, from its least value as black to its
// greatest as white; nil if its shape is not that of pictures: of one or three channels, that
// are the last axis or stand before height and width.
func Pictures(shape []int, values []float64) [][]byte {
	n := len(shape)
	wide := func(h, w int) bool { return h >= 4 && w >= 4 && h <= 4096 && w <= 4096 }
	few := func(c int) bool { return c == 1 || c == 3 }
	var channels, height, width, pixel, plane int // and the steps from one pixel, and one channel, to the next
	switch {
	case n >= 3 && few(shape[n-3]) && wide(shape[n-2], shape[n-1]):
		channels, height, width = shape[n-3], shape[n-2], shape[n-1]
		pixel, plane = 1, height*width
	case n >= 3 && few(shape[n-1]) && wide(shape[n-3], shape[n-2]):
		height, width, channels = shape[n-3], shape[n-2], shape[n-1]
		pixel, plane = channels, 1
	default:
		return nil
	}
	size := channels * height * width
	if len(values) != graph.Size(shape) || size == 0 {
		return nil
	}
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
		img := image.NewNRGBA(image.Rect(0, 0, width, height))
		for i := range height * width {
			var c [3]uint8
			for k := range c {
				c[k] = level(values[at+i*pixel+min(k, channels-1)*plane])
			}
			img.SetNRGBA(i%width, i/width, color.NRGBA{c[0], c[1], c[2], 255})
		}
		var b bytes.Buffer
		if err := png.Encode(&b, img); err != nil {
			return nil // of a size that PNG does not take
		}
		out = append(out, b.Bytes())
	}
	return out
}

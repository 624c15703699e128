package onnx

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	_ "image/jpeg" // a format that image.Decode knows
	_ "image/png"  // likewise
	"math"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/image/draw"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/picture"
	"github.com/prove-model/prove-model/internal/refuse"
)

// maxPixels bounds the pixels of a picture. A file of a few bytes may claim any number of
// them.
const maxPixels = 1 << 26

// Pictures says how a picture becomes the numbers of an input. A channel of a pixel has a
// value p from 0 to 255; it becomes (p/255 − mean)/deviation, rounded to float32.
type Pictures struct {
	Mean, Deviation [3]float64 // for red, green and blue; a grey input uses the first
	BGR             bool       // the input's channels are in the order blue, green, red
	Crop            bool       // cut off both sides of a picture that has other proportions than the input, instead of stretching it
}

// wholePictures scales pixels to [0, 1] and stretches pictures.
var wholePictures = Pictures{Deviation: [3]float64{1, 1, 1}}

// ParsePictures reads words separated by commas. One may be a range: "0..1" (the
// default), "-1..1" or "0..255"; or "imagenet", the mean and deviation of that data set;
// or mean/deviation, as in "0.5/0.25" or "0.5:0.4:0.3/0.2:0.2:0.2". Others may be "bgr"
// and "crop".
func ParsePictures(s string) (Pictures, error) {
	p := wholePictures
	chosen := ""
	for _, word := range strings.Split(s, ",") {
		word = strings.ToLower(strings.TrimSpace(word))
		switch word {
		case "":
			continue
		case "bgr":
			p.BGR = true
			continue
		case "crop":
			p.Crop = true
			continue
		}
		if chosen != "" {
			return p, fmt.Errorf("%s and %s are two ways to scale pixels: give one", graph.Quote(chosen), graph.Quote(word))
		}
		chosen = word
		switch word {
		case "0..1":
		case "-1..1":
			p.Mean, p.Deviation = [3]float64{0.5, 0.5, 0.5}, [3]float64{0.5, 0.5, 0.5}
		case "0..255":
			p.Deviation = [3]float64{1. / 255, 1. / 255, 1. / 255}
		case "imagenet":
			p.Mean, p.Deviation = [3]float64{0.485, 0.456, 0.406}, [3]float64{0.229, 0.224, 0.225}
		default:
			mean, deviation, ok := strings.Cut(word, "/")
			var means, deviations bool
			p.Mean, means = channels(mean)
			p.Deviation, deviations = channels(deviation)
			if !ok || !means || !deviations || slices.Min(p.Deviation[:]) <= 0 {
				return p, fmt.Errorf("%s is no way to scale pixels: want 0..1, -1..1, 0..255, imagenet or mean/deviation such as 0.5/0.25, and with commas bgr or crop",
					graph.Quote(word))
			}
		}
	}
	return p, nil
}

// channels reads one number, for all channels, or three with colons between them.
func channels(s string) (v [3]float64, ok bool) {
	parts := strings.Split(s, ":")
	if len(parts) == 1 {
		parts = []string{s, s, s}
	}
	ok = len(parts) == len(v)
	for i := 0; ok && i < len(v); i++ {
		var err error
		v[i], err = strconv.ParseFloat(parts[i], 64)
		ok = err == nil && math.Abs(v[i]) <= 1e6
	}
	return v, ok
}

// parsePicture reads a PNG or a JPEG. It checks the size before it decodes the pixels.
func parsePicture(data []byte) Inputs {
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	refuse.If(err != nil, "not a PNG or JPEG picture, or damaged: %w", err)
	refuse.If(c.Width < 1 || c.Height < 1 || c.Width > maxPixels/c.Height,
		"a picture of %d × %d pixels: at most %d are read; make it smaller", c.Width, c.Height, maxPixels)
	m, _, err := image.Decode(bytes.NewReader(data))
	refuse.If(err != nil, "damaged picture: %w", err)
	b := m.Bounds()
	refuse.If(b.Dx() != c.Width || b.Dy() != c.Height,
		"damaged picture: %d × %d pixels are said and %d × %d there", c.Width, c.Height, b.Dx(), b.Dy())
	return Inputs{{pictures: []image.Image{m}, files: []string{string(data)}}}
}

// parseOther reads a picture in one of the formats of package picture.
func parseOther(data []byte) Inputs {
	height, width, pixels, err := picture.Decode(data, picture.RGB)
	must.OK(err)
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for i := range height * width {
		copy(m.Pix[4*i:4*i+4], []uint8{pixels[3*i], pixels[3*i+1], pixels[3*i+2], 255})
	}
	return Inputs{{pictures: []image.Image{m}, files: []string{string(data)}}}
}

// layout says which axes of an input's shape are channels, height and width.
type layout struct {
	height, width, channels int  // sizes
	last                    bool // the channels are the last axis
	count                   int  // number of pictures
}

// layoutOf finds the axes by their sizes: the channels, of which there are 1 or 3, come
// before or after height and width. A shape of three axes is one picture, and one of two
// is a grey one; a first axis of four counts pictures.
func layoutOf(shape []int) layout {
	isChannels := func(n int) bool { return n == 1 || n == 3 }
	n := len(shape)
	refuse.If(n < 2 || n > 4 || graph.Size(shape) == 0, "its shape %v is not a picture's", shape)
	l := layout{count: 1, channels: 1}
	inner := shape
	if n == 4 {
		l.count, inner = shape[0], shape[1:]
	}
	if len(inner) == 2 {
		l.height, l.width = inner[0], inner[1]
	} else {
		first, last := isChannels(inner[0]), isChannels(inner[2])
		switch {
		case first && last && inner[0] != inner[2] || first && last && inner[1] <= 3:
			refuse.With("its shape %v does not say which axis is the channels", shape)
		case first:
			l.channels, l.height, l.width = inner[0], inner[1], inner[2]
		case last:
			l.height, l.width, l.channels, l.last = inner[0], inner[1], inner[2], true
		default:
			refuse.With("its shape %v has no axis of 1 or 3 channels", shape)
		}
	}
	refuse.If(l.height < 2 || l.width < 2, "its shape %v is not a picture's", shape)
	return l
}

// numbers returns the numbers of pictures for the input in, one picture after the other.
func (p Pictures) numbers(pictures []image.Image, in graph.Input) []float64 {
	l, err := refuse.Result(func() layout { return layoutOf(in.Shape) })
	refuse.If(err != nil,
		"input %s takes no picture: %w; give its numbers in a .npy or .npz file", graph.Quote(in.Name), err)
	refuse.If(!in.DType.IsFloat() && in.DType != 0 && p.Deviation != [3]float64{1. / 255, 1. / 255, 1. / 255},
		"input %s takes whole numbers: give --image 0..255", graph.Quote(in.Name))
	return slices.Concat(each(pictures, func(m image.Image) []float64 { return p.pixels(l.resize(m, p.Crop), l) })...)
}

// resize scales a picture to the layout's height and width, bilinearly. When it shrinks a
// picture, each pixel is a mean of all pixels in the area that it stands for, with
// weights that fall linearly from its centre. Transparency is ignored. A picture that has
// this size already is not changed.
func (l layout) resize(m image.Image, crop bool) *image.RGBA {
	b := m.Bounds()
	from := b
	if crop {
		w, h := b.Dx(), b.Dy()
		if w*l.height > h*l.width {
			cut := (w - max(1, h*l.width/l.height)) / 2
			from = image.Rect(b.Min.X+cut, b.Min.Y, b.Max.X-(w-max(1, h*l.width/l.height)-cut), b.Max.Y)
		} else {
			cut := (h - max(1, w*l.height/l.width)) / 2
			from = image.Rect(b.Min.X, b.Min.Y+cut, b.Max.X, b.Max.Y-(h-max(1, w*l.height/l.width)-cut))
		}
	}
	out := image.NewRGBA(image.Rect(0, 0, l.width, l.height))
	if o, ok := m.(interface{ Opaque() bool }); !ok || !o.Opaque() {
		m, from = opaque(m, from), image.Rect(0, 0, from.Dx(), from.Dy())
	}
	if from.Dx() == l.width && from.Dy() == l.height {
		draw.Draw(out, out.Bounds(), m, from.Min, draw.Src)
	} else {
		draw.BiLinear.Scale(out, out.Bounds(), m, from, draw.Src, nil)
	}
	return out
}

// opaque copies a part of a picture without its transparency.
func opaque(m image.Image, from image.Rectangle) *image.RGBA {
	out := image.NewRGBA(image.Rect(0, 0, from.Dx(), from.Dy()))
	for y := range from.Dy() {
		for x := range from.Dx() {
			c := color.NRGBAModel.Convert(m.At(from.Min.X+x, from.Min.Y+y)).(color.NRGBA)
			out.SetRGBA(x, y, color.RGBA{c.R, c.G, c.B, 255})
		}
	}
	return out
}

// pixels returns the numbers of a picture of the layout's size.
func (p Pictures) pixels(m *image.RGBA, l layout) []float64 {
	out := make([]float64, l.channels*l.height*l.width)
	for y := range l.height {
		for x := range l.width {
			c := m.RGBAAt(x, y)
			rgb := [3]uint8{c.R, c.G, c.B}
			if l.channels == 1 {
				rgb[0] = color.GrayModel.Convert(c).(color.Gray).Y
			}
			for k := range l.channels {
				from := k
				if p.BGR && l.channels == 3 {
					from = 2 - k
				}
				at := (k*l.height+y)*l.width + x
				if l.last {
					at = (y*l.width+x)*l.channels + k
				}
				out[at] = float64(float32((float64(rgb[from])/255 - p.Mean[from]) / p.Deviation[from]))
			}
		}
	}
	return out
}

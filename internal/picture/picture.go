// Package picture decodes files of pictures to pixels, as ONNX's ImageDecoder prescribes: JPEG (baseline and
// progressive), PNG, BMP, TIFF, WebP (its first frame), and portable any-map files with one byte for each
// sample (PGM and PPM).
//
// Files are not trusted: their sizes are checked before memory for the pixels is allocated, so that memory
// stays below MaxPixels times a few tens of bytes.
package picture

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"

	"github.com/prove-model/prove-model/internal/must"
)

// Bounds on the bytes and the pixels of a file, and on the scans of a JPEG, each of which may pass over all
// pixels.
const (
	MaxBytes  = 1 << 26
	MaxPixels = 1 << 23
	maxScans  = 1 << 8
)

// Orders of the channels of a pixel.
const (
	RGB       = "RGB"
	BGR       = "BGR"
	Grayscale = "Grayscale"
)

// Channels returns the number of channels of an order; 0 if there is no such order.
func Channels(order string) int {
	switch order {
	case RGB, BGR:
		return 3
	case Grayscale:
		return 1
	}
	return 0
}

// format is a format of files: how a file begins, and the functions that read it.
type format struct {
	magic  string // the first bytes; ? stands for any byte
	name   string
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
}

var formats = []format{
	{"\xff\xd8", "JPEG", jpeg.DecodeConfig, decodeJPEG},
	{"\x89PNG\r\n\x1a\n", "PNG", png.DecodeConfig, png.Decode},
	{"BM", "BMP", bmp.DecodeConfig, bmp.Decode},
	{"II\x2a\x00", "TIFF", tiff.DecodeConfig, tiff.Decode},
	{"MM\x00\x2a", "TIFF", tiff.DecodeConfig, tiff.Decode},
	{"RIFF????WEBP", "WebP", webp.DecodeConfig, webp.Decode},
	{"P5", "PGM", anyMapConfig, anyMap},
	{"P6", "PPM", anyMapConfig, anyMap},
}

// formatOf returns the format of a file, by its first bytes.
func formatOf(data []byte) (*format, error) {
	for i := range formats {
		f := &formats[i]
		same := len(data) >= len(f.magic)
		for k := 0; same && k < len(f.magic); k++ {
			same = f.magic[k] == '?' || f.magic[k] == data[k]
		}
		if same {
			return f, nil
		}
	}
	if bytes.HasPrefix(data, []byte("\x00\x00\x00\x0cjP  ")) || bytes.HasPrefix(data, []byte("\xff\x4f\xff\x51")) {
		return nil, errors.New("a JPEG 2000 picture, which is not decoded: convert it to PNG, which keeps its pixels")
	}
	return nil, errors.New("no picture in a format that is decoded: JPEG, PNG, BMP, TIFF, WebP, PGM (P5) or PPM (P6)")
}

// Size returns the height and width of the picture in a file. It returns an error if the format is not known, or
// the picture is too large.
func Size(data []byte) (height, width int, err error) {
	defer must.Catch(&err)
	f := must.Get(formatOf(data))
	return f.size(data)
}

// size is Size for a file in this format.
func (f *format) size(data []byte) (height, width int, err error) {
	defer must.Catch(&err)
	if len(data) > MaxBytes {
		return 0, 0, fmt.Errorf("a file of %d bytes: at most %d are read", len(data), MaxBytes)
	}
	c := must.GetAs(f.config(bytes.NewReader(data)))("a damaged %s picture", f.name)
	if c.Width < 1 || c.Height < 1 || c.Width > MaxPixels/c.Height {
		return 0, 0, fmt.Errorf("a picture of %d × %d pixels: at most %d are read; make it smaller", c.Width, c.Height, MaxPixels)
	}
	if f.name == "JPEG" && bytes.Count(data, []byte("\xff\xda")) > maxScans {
		return 0, 0, fmt.Errorf("a JPEG picture of more than %d scans: save it again", maxScans)
	}
	return c.Height, c.Width, nil
}

// Decode returns the pixels of a file, row by row, each of Channels(order) bytes. In a colour order, the channels of
// a grey pixel are equal. In Grayscale, a colour becomes (299·red + 587·green + 114·blue)/1000, rounded. A picture
// that is not opaque, or that has 16 bits for each channel, or four inks, is refused.
func Decode(data []byte, order string) (height, width int, pixels []byte, err error) {
	defer must.Catch(&err)
	channels := Channels(order)
	if channels == 0 {
		return 0, 0, nil, fmt.Errorf("no order of channels: %q", order)
	}
	f := must.Get(formatOf(data))
	if height, width, err = f.size(data); err != nil {
		return 0, 0, nil, err
	}
	m := must.GetAs(f.decode(bytes.NewReader(data)))("a damaged %s picture", f.name)
	if b := m.Bounds(); b.Dx() != width || b.Dy() != height {
		return 0, 0, nil, fmt.Errorf("a damaged %s picture: %d × %d pixels are said and %d × %d there", f.name, width, height, b.Dx(), b.Dy())
	}
	at := must.Get(reader(m, f.name))
	pixels = make([]byte, 0, height*width*channels)
	for y := range height {
		for x := range width {
			r, g, b := at(x, y)
			switch order {
			case RGB:
				pixels = append(pixels, r, g, b)
			case BGR:
				pixels = append(pixels, b, g, r)
			default:
				pixels = append(pixels, grey(r, g, b))
			}
		}
	}
	return height, width, pixels, nil
}

// grey is the brightness of a colour by ITU-R BT.601, with weights in units of 2^−16, and
// rounded as by Pillow.
func grey(r, g, b uint8) uint8 {
	return uint8((19595*uint32(r) + 38470*uint32(g) + 7471*uint32(b) + 1<<15) >> 16)
}

// reader returns a function that returns the colour of the pixel in column x and row y,
// both counted from 0.
func reader(m image.Image, name string) (func(x, y int) (r, g, b uint8), error) {
	if o, ok := m.(interface{ Opaque() bool }); !ok || !o.Opaque() {
		return nil, errors.New("a picture of which parts are transparent: give it a background")
	}
	at := m.Bounds().Min
	switch m := m.(type) {
	case *image.YCbCr:
		if name == "WebP" {
			return webpReader(m), nil
		}
		return jpegReader(m), nil
	case *image.Gray:
		return func(x, y int) (r, g, b uint8) {
			v := m.GrayAt(at.X+x, at.Y+y).Y
			return v, v, v
		}, nil
	case *image.Gray16, *image.RGBA64, *image.NRGBA64:
		return nil, errors.New("a picture of 16 bits a channel, of which pixels of type uint8 hold 8: save it with 8")
	case *image.CMYK:
		return nil, errors.New("a picture of four inks, whose colours no file says: save it as RGB")
	}
	return func(x, y int) (r, g, b uint8) {
		c := color.NRGBAModel.Convert(m.At(at.X+x, at.Y+y)).(color.NRGBA)
		return c.R, c.G, c.B
	}, nil
}

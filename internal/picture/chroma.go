package picture

import "image"

// near serves to interpolate colour samples, of which there are n along an axis with twice as many pixels. It
// returns the index of the sample that covers pixel i, and that of the neighbouring sample on the side where the
// pixel lies; both are in [0, n).
func near(i, n int) (at, next int) {
	at = min(i/2, n-1)
	if next = at - 1; i%2 == 1 {
		next = at + 1
	}
	return at, max(0, min(next, n-1))
}

// planes are the colour planes (Cb and Cr) of a picture.
type planes struct {
	*image.YCbCr
	width, height int  // of the colour planes
	repeated      bool // samples are repeated, not interpolated: libjpeg-turbo interpolates only widths of three samples or more
}

// planesOf computes the size of the colour planes from the subsampling.
func planesOf(m *image.YCbCr) planes {
	b := m.Bounds()
	p := planes{YCbCr: m, width: b.Dx(), height: b.Dy()}
	switch m.SubsampleRatio {
	case image.YCbCrSubsampleRatio422:
		p.width = (p.width + 1) / 2
	case image.YCbCrSubsampleRatio420:
		p.width, p.height = (p.width+1)/2, (p.height+1)/2
	case image.YCbCrSubsampleRatio440:
		p.height = (p.height + 1) / 2
	}
	p.repeated = p.width <= 2
	return p
}

// jpegReader returns the reader (see reader) of a JPEG. Colours of half the resolution are interpolated as ONNX's
// ImageDecoder prescribes, which is what libjpeg-turbo does (jdsample.c), and converted to RGB as there (jdcolor.c),
// with coefficients in units of 2^−16. Colours of other resolutions are repeated.
func jpegReader(m *image.YCbCr) func(x, y int) (r, g, b uint8) {
	p := planesOf(m)
	colour := func(plane []uint8, x, y int) int32 {
		at := func(x, y int) int32 { return int32(plane[y*m.CStride+x]) }
		switch m.SubsampleRatio {
		case image.YCbCrSubsampleRatio444:
			return at(x, y)
		case image.YCbCrSubsampleRatio422:
			i, next := near(x, p.width)
			if i == next || p.repeated {
				return at(i, y)
			}
			return (3*at(i, y) + at(next, y) + 1 + int32(x%2)) >> 2
		case image.YCbCrSubsampleRatio440:
			i, next := near(y, p.height)
			return (3*at(x, i) + at(x, next) + 1 + int32(y%2)) >> 2
		case image.YCbCrSubsampleRatio420:
			i, next := near(x, p.width)
			j, below := near(y, p.height)
			if p.repeated {
				return at(i, j)
			}
			here, beside := 3*at(i, j)+at(i, below), 3*at(next, j)+at(next, below)
			return (3*here + beside + 8 - int32(x%2)) >> 4
		}
		return int32(plane[m.COffset(m.Rect.Min.X+x, m.Rect.Min.Y+y)])
	}
	return func(x, y int) (r, g, b uint8) {
		l := int32(m.Y[y*m.YStride+x])
		cb, cr := colour(m.Cb, x, y)-128, colour(m.Cr, x, y)-128
		return clamp(l + (91881*cr+1<<15)>>16), clamp(l + (-22554*cb-46802*cr+1<<15)>>16), clamp(l + (116130*cb+1<<15)>>16)
	}
}

// webpReader returns the reader (see reader) of a lossy WebP. Colours are interpolated (dsp/upsampling.c) and
// converted to RGB (dsp/yuv.h) as by libwebp.
func webpReader(m *image.YCbCr) func(x, y int) (r, g, b uint8) {
	p := planesOf(m)
	colour := func(plane []uint8, x, y int) int32 {
		i, next := near(x, p.width)
		j, below := near(y, p.height)
		at := func(x, y int) int32 { return int32(plane[y*m.CStride+x]) }
		here, beside, under, across := at(i, j), at(next, j), at(i, below), at(next, below)
		// (9·here + 3·beside + 3·under + across)/16, rounded as libwebp does.
		return ((here+beside+under+across+8+2*(beside+under))>>3 + here) >> 1
	}
	scaled := func(v, by int32) int32 { return v * by >> 8 }
	return func(x, y int) (r, g, b uint8) {
		l := scaled(int32(m.Y[y*m.YStride+x]), 19077)
		u, v := colour(m.Cb, x, y), colour(m.Cr, x, y)
		return clamp((l + scaled(v, 26149) - 14234) >> 6), clamp((l - scaled(u, 6419) - scaled(v, 13320) + 8708) >> 6), clamp((l + scaled(u, 33050) - 17685) >> 6)
	}
}

func clamp(v int32) uint8 { return uint8(max(0, min(v, 255))) }

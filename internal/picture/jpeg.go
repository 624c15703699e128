package picture

import (
	"errors"
	"fmt"
	"image"
	"io"

	"github.com/prove-model/prove-model/internal/must"
)

// The standard library's decoder is not used, because pixels are inputs of proofs: they must be the same with every version of
// Go, and be those that ONNX's tests expect. This decoder reads sequential and progressive files of ITU-T T.81 with Huffman
// codes and 8 bits for each sample, and transforms blocks with the integer arithmetic of libjpeg's jidctint.c.

var errShort = errors.New("it ends too early")

// zigzag maps the index of a coefficient in a file to its index in a block, row by row.
var zigzag = [64]uint8{
	0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
	35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
}

// huffman is a table of codes. For each length of codes it has the first code, the index of that code's
// value, and the number of codes.
type huffman struct {
	first, at, count [17]int32
	values           []byte
}

// plane is a component of a picture: brightness (or grey), Cb or Cr.
type plane struct {
	id, h, v      int         // its number in the file, and its sampling factors
	table         byte        // number of its quantisation table
	quantised     *[64]uint16 // that table, as it is at the component's first scan
	width, height int         // in samples
	across, down  int         // in blocks, rounded up to whole units of interleaved scans
	blocks        [][64]int16 // coefficients before dequantisation
	predicted     int32       // the first coefficient of the block before, which predicts the next
}

// jpegDecoder is the state of decoding a file.
type jpegDecoder struct {
	data          []byte // what is not read yet
	width, height int
	progressive   bool
	planes        []*plane
	quantisation  [4]*[64]uint16
	codes         [2][4]*huffman // for the first coefficients of blocks (DC), and for the others (AC)
	restart       int            // number of units between restarts; 0 means no restarts

	bits  uint32 // the byte of the scan that is being read
	count uint   // how many of its bits are left
}

// decodeJPEG decodes a JPEG file, as format.decode.
func decodeJPEG(r io.Reader) (_ image.Image, err error) {
	defer must.Catch(&err)
	data := must.Get(io.ReadAll(r))
	d := &jpegDecoder{data: data[2:]} // after the first two bytes, the magic
	must.OK(d.read())
	return d.picture()
}

// segment returns the next marker and, if the marker has a content, that.
func (d *jpegDecoder) segment() (marker byte, content []byte, err error) {
	for len(d.data) >= 2 && (d.data[0] != 0xff || d.data[1] == 0xff || d.data[1] == 0) {
		d.data = d.data[1:] // padding, or the rest of a scan
	}
	if len(d.data) < 2 {
		return 0, nil, errShort
	}
	marker, d.data = d.data[1], d.data[2:]
	if marker == 1 || marker >= 0xd0 && marker <= 0xd9 {
		return marker, nil, nil
	}
	if len(d.data) < 2 {
		return 0, nil, errShort
	}
	n := int(d.data[0])<<8 | int(d.data[1])
	if n < 2 || n > len(d.data) {
		return 0, nil, errShort
	}
	content, d.data = d.data[2:n], d.data[n:]
	return marker, content, nil
}

// read reads all segments.
func (d *jpegDecoder) read() (err error) {
	defer must.Catch(&err)
	for {
		marker, content, err := d.segment()
		must.OK(err)
		switch marker {
		case 0xc0, 0xc1, 0xc2:
			d.progressive = marker == 0xc2
			err = d.frame(content)
		case 0xc4:
			err = d.readCodes(content)
		case 0xdb:
			err = d.readQuantisation(content)
		case 0xdd:
			if len(content) != 2 {
				return errShort
			}
			d.restart = int(content[0])<<8 | int(content[1])
		case 0xda:
			err = d.scan(content)
		case 0xd9:
			return nil
		case 0xee:
			if len(content) >= 12 && string(content[:5]) == "Adobe" && content[11] != 1 {
				return errors.New("its colours are not YCbCr: save it as RGB")
			}
		case 0xc3, 0xc5, 0xc6, 0xc7, 0xc9, 0xca, 0xcb, 0xcd, 0xce, 0xcf:
			return errors.New("a kind of JPEG that is not decoded (lossless, hierarchical, or with arithmetic codes)")
		}
		must.OK(err)
	}
}

// frame reads a frame header: the size of the picture and its components.
func (d *jpegDecoder) frame(c []byte) error {
	if d.planes != nil || len(c) < 6 || len(c) != 6+3*int(c[5]) {
		return errors.New("its frame is damaged")
	}
	d.height, d.width = int(c[1])<<8|int(c[2]), int(c[3])<<8|int(c[4])
	if c[0] != 8 || c[5] != 1 && c[5] != 3 {
		return fmt.Errorf("it has %d components of %d bits: 1 or 3 of 8 are decoded", c[5], c[0])
	}
	if d.width < 1 || d.height < 1 || d.width > MaxPixels/d.height {
		return errors.New("its size is damaged")
	}
	most, tallest := 1, 1
	for i := range int(c[5]) {
		p := &plane{id: int(c[6+3*i]), h: int(c[7+3*i] >> 4), v: int(c[7+3*i] & 15), table: c[8+3*i]}
		if p.table > 3 || p.h < 1 || p.v < 1 || p.h > 2 || p.v > 2 || i > 0 && p.h*p.v != 1 {
			return fmt.Errorf("its colours have a resolution that is not decoded (%d × %d)", p.h, p.v)
		}
		if c[5] == 1 {
			p.h, p.v = 1, 1 // one component is never interleaved
		}
		most, tallest = max(most, p.h), max(tallest, p.v)
		d.planes = append(d.planes, p)
	}
	for _, p := range d.planes {
		p.width, p.height = (d.width*p.h+most-1)/most, (d.height*p.v+tallest-1)/tallest
		p.across, p.down = p.h*((d.width+8*most-1)/(8*most)), p.v*((d.height+8*tallest-1)/(8*tallest))
		p.blocks = make([][64]int16, p.across*p.down)
	}
	return nil
}

// readQuantisation reads quantisation tables.
func (d *jpegDecoder) readQuantisation(c []byte) error {
	for len(c) > 0 {
		wide, at := int(c[0]>>4), c[0]&15
		if at > 3 || wide > 1 || len(c) < 1+64*(1+wide) {
			return errShort
		}
		t := new([64]uint16)
		for i := range t {
			if wide == 1 {
				t[zigzag[i]] = uint16(c[1+2*i])<<8 | uint16(c[2+2*i])
			} else {
				t[zigzag[i]] = uint16(c[1+i])
			}
		}
		d.quantisation[at], c = t, c[1+64*(1+wide):]
	}
	return nil
}

// readCodes reads Huffman tables. Codes of each length follow those of the length before, with a
// zero bit appended.
func (d *jpegDecoder) readCodes(c []byte) error {
	for len(c) > 0 {
		if len(c) < 17 || c[0]>>4 > 1 || c[0]&15 > 3 {
			return errShort
		}
		t := &huffman{}
		code, total := int32(0), int32(0)
		for n := 1; n <= 16; n++ {
			t.first[n], t.at[n], t.count[n] = code, total, int32(c[n])
			code, total = code+int32(c[n]), total+int32(c[n])
			if code > 1<<n {
				return errors.New("its codes are damaged")
			}
			code <<= 1
		}
		if total > 256 || len(c) < 17+int(total) {
			return errShort
		}
		t.values = c[17 : 17+total]
		d.codes[c[0]>>4][c[0]&15], c = t, c[17+total:]
	}
	return nil
}

// bit reads the next bit of a scan. A byte of 0xff in a scan is followed by 0, else it
// begins a marker.
func (d *jpegDecoder) bit() (int32, error) {
	if d.count == 0 {
		if len(d.data) == 0 {
			return 0, errShort
		}
		b, skip := d.data[0], 1
		if b == 0xff {
			if len(d.data) < 2 || d.data[1] != 0 { // a marker
				return 0, errShort
			}
			skip = 2
		}
		d.bits, d.count, d.data = uint32(b), 8, d.data[skip:]
	}
	d.count--
	return int32(d.bits>>d.count) & 1, nil
}

// number reads n bits, the highest first.
func (d *jpegDecoder) number(n int) (v int32, err error) {
	for range n {
		b, err := d.bit()
		if err != nil {
			return 0, err
		}
		v = v<<1 | b
	}
	return v, nil
}

// signed reads a number of n bits. If its first bit is 0 it stands for a negative number:
// v − (2^n − 1).
func (d *jpegDecoder) signed(n int) (int32, error) {
	v, err := d.number(n)
	if n > 0 && v < 1<<(n-1) {
		v += 1 - 1<<n
	}
	return v, err
}

// symbol reads a Huffman code and returns its value.
func (d *jpegDecoder) symbol(t *huffman) (byte, error) {
	code := int32(0)
	for n := 1; n <= 16; n++ {
		b, err := d.bit()
		if err != nil {
			return 0, err
		}
		code = code<<1 | b
		if i := code - t.first[n]; i >= 0 && i < t.count[n] {
			return t.values[t.at[n]+i], nil
		}
	}
	return 0, errors.New("it has a code that stands for nothing")
}

// picture transforms all blocks to samples and returns the picture.
func (d *jpegDecoder) picture() (image.Image, error) {
	if d.planes == nil {
		return nil, errShort
	}
	samples := make([][]uint8, len(d.planes))
	for i, p := range d.planes {
		if p.quantised == nil {
			return nil, errors.New("a component is in no scan")
		}
		stride := 8 * p.across
		samples[i] = make([]uint8, stride*8*p.down)
		for k := range p.blocks {
			transform(&p.blocks[k], p.quantised, samples[i][k/p.across*8*stride+k%p.across*8:], stride)
		}
	}
	size := image.Rect(0, 0, d.width, d.height)
	if len(d.planes) == 1 {
		return &image.Gray{Pix: samples[0], Stride: 8 * d.planes[0].across, Rect: size}, nil
	}
	ratio := map[[2]int]image.YCbCrSubsampleRatio{
		{1, 1}: image.YCbCrSubsampleRatio444, {2, 1}: image.YCbCrSubsampleRatio422,
		{1, 2}: image.YCbCrSubsampleRatio440, {2, 2}: image.YCbCrSubsampleRatio420,
	}[[2]int{d.planes[0].h, d.planes[0].v}]
	return &image.YCbCr{Y: samples[0], Cb: samples[1], Cr: samples[2], YStride: 8 * d.planes[0].across, CStride: 8 * d.planes[1].across,
		SubsampleRatio: ratio, Rect: size}, nil
}

// transform dequantises a block by the table by, applies the inverse DCT (jidctint.c) and writes the
// samples to out. It transforms columns first, whose results keep two fractional bits; the second
// shift removes these, and the factor 8 of both transforms.
func transform(block *[64]int16, by *[64]uint16, out []uint8, stride int) {
	var work [64]int32
	for x := range 8 {
		var in [8]int32
		for y := range in {
			in[y] = int32(block[8*y+x]) * int32(by[8*y+x])
		}
		for y, v := range transform8(in, 13-2) {
			work[8*y+x] = v
		}
	}
	for y := range 8 {
		for x, v := range transform8([8]int32(work[8*y:8*y+8]), 13+2+3) {
			out[y*stride+x] = clamp(v + 128)
		}
	}
}

// transform8 is the inverse DCT of 8 numbers, times √8. The factors have 13 fractional bits: 4433
// is 0.541196100·2^13, for example. The results are rounded to drop shift bits.
func transform8(in [8]int32, shift int) (out [8]int32) {
	z1 := (in[2] + in[6]) * 4433
	a2, a3 := z1-in[6]*15137, z1+in[2]*6270
	a0, a1 := (in[0]+in[4])<<13, (in[0]-in[4])<<13
	even := [4]int32{a0 + a3, a1 + a2, a1 - a2, a0 - a3}
	z5 := (in[7] + in[3] + in[5] + in[1]) * 9633
	z1, z2 := -(in[7]+in[1])*7373, -(in[5]+in[3])*20995
	z3, z4 := z5-(in[7]+in[3])*16069, z5-(in[5]+in[1])*3196
	odd := [4]int32{in[1]*12299 + z1 + z4, in[3]*25172 + z2 + z3, in[5]*16819 + z2 + z4, in[7]*2446 + z1 + z3}
	for i := range 4 {
		out[i] = (even[i] + odd[i] + 1<<(shift-1)) >> shift
		out[7-i] = (even[i] - odd[i] + 1<<(shift-1)) >> shift
	}
	return out
}

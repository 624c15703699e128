package picture

import (
	"bufio"
	"errors"
	"image"
	"image/color"
	"io"

	"github.com/prove-model/prove-model/internal/must"
)

// header reads the header of a portable any-map with one byte for each sample: P5 or P6, width, height and 255,
// with white space and comments between them. kind is '5' (grey) or '6' (RGB).
func header(r *bufio.Reader) (kind byte, c image.Config, err error) {
	var magic [2]byte
	if _, err := io.ReadFull(r, magic[:]); err != nil {
		return 0, c, err
	}
	var numbers [3]int
	for i := range numbers {
		if numbers[i], err = number(r); err != nil {
			return 0, c, err
		}
	}
	if numbers[2] != 255 {
		return 0, c, errors.New("its greatest value is not 255")
	}
	c = image.Config{ColorModel: color.GrayModel, Width: numbers[0], Height: numbers[1]}
	if magic[1] == '6' {
		c.ColorModel = color.RGBAModel
	}
	return magic[1], c, nil
}

// number reads a decimal number, white space and comments before it, and one character of
// white space after it.
func number(r *bufio.Reader) (int, error) {
	n, digits := 0, false
	for {
		b, err := r.ReadByte()
		switch {
		case err != nil:
			return 0, io.ErrUnexpectedEOF
		case b == '#' && !digits:
			if _, err := r.ReadString('\n'); err != nil {
				return 0, io.ErrUnexpectedEOF
			}
		case b >= '0' && b <= '9' && n < MaxPixels:
			n, digits = 10*n+int(b-'0'), true
		case b != ' ' && (b < '\t' || b > '\r'):
			return 0, errors.New("its header has no numbers")
		case digits:
			return n, nil
		}
	}
}

func anyMapConfig(r io.Reader) (image.Config, error) {
	_, c, err := header(bufio.NewReader(r))
	return c, err
}

// anyMap reads a picture whose size has been checked before.
func anyMap(from io.Reader) (_ image.Image, err error) {
	defer must.Catch(&err)
	r := bufio.NewReader(from)
	kind, c, err := header(r)
	must.OK(err)
	size := image.Rect(0, 0, c.Width, c.Height)
	if kind == '5' {
		m := image.NewGray(size)
		_, err := io.ReadFull(r, m.Pix)
		return m, err
	}
	m, row := image.NewRGBA(size), make([]byte, 3*c.Width)
	for y := range c.Height {
		must.Get(io.ReadFull(r, row))
		for x := range c.Width {
			copy(m.Pix[m.PixOffset(x, y):], append(row[3*x:3*x+3:3*x+3], 255))
		}
	}
	return m, nil
}

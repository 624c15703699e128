package vocabulary

import (
	"errors"
	"fmt"
	"slices"
)

// Decode is ImageDecoder: the pixels of the picture that a file has.
type Decode struct {
	Order string `json:"order"` // of the channels: RGB, BGR or Grayscale
	Shape []int  `json:"shape"` // height, width, channels; a picture of another size is refused
}

// Decoder decodes the file of a picture to pixels, row by row, each of as many bytes as the order has channels. It bounds
// what it makes. It is given to Map, so that what reads vocabularies, and maps nothing, has no decoders.
type Decoder func(file []byte, order string) (height, width int, pixels []byte, err error)

func (o *Decode) check(in, out int) error {
	channels := map[string]int{"RGB": 3, "BGR": 3, "Grayscale": 1}[o.Order]
	if len(o.Shape) != 3 || channels == 0 || o.Shape[2] != channels || min(o.Shape[0], o.Shape[1]) < 1 {
		return fmt.Errorf("pictures of shape %v, %q", o.Shape, o.Order)
	}
	if _, err := size(o.Shape); err != nil {
		return err
	}
	return count(in, out, 1, 1)
}

func (o *Decode) shapes(in [][]Dim) ([][]Dim, error) {
	if len(in[0]) != 0 {
		return nil, errors.New("it takes one file")
	}
	return [][]Dim{{{N: o.Shape[0]}, {N: o.Shape[1]}, {N: o.Shape[2]}}}, nil
}

func (o *Decode) run(in []Array, b *budget) ([]Array, error) {
	if len(in[0].Strings) != 1 {
		return nil, fmt.Errorf("%d files, and it takes one", len(in[0].Strings))
	}
	if b.decode == nil {
		return nil, errors.New("this program decodes no pictures")
	}
	out, err := b.ofNumbers(slices.Clone(o.Shape))
	if err != nil {
		return nil, err
	}
	height, width, pixels, err := b.decode([]byte(in[0].Strings[0]), o.Order)
	if err != nil {
		return nil, err
	}
	if height != o.Shape[0] || width != o.Shape[1] || len(pixels) != len(out.Numbers) {
		return nil, fmt.Errorf("a picture of %d × %d pixels (width × height), and the key is of pictures of %d × %d", width, height, o.Shape[1], o.Shape[0])
	}
	for i, p := range pixels {
		out.Numbers[i] = float64(p)
	}
	return []Array{out}, nil
}

package vocabulary

import (
	"errors"
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/internal/picture"
)

// Decode is ImageDecoder: the pixels of the picture that a file has.
type Decode struct {
	Order string `json:"order"` // of the channels: RGB, BGR or Grayscale
	Shape []int  `json:"shape"` // height, width, channels; a picture of another size is refused
}

func (o *Decode) check(in, out int) error {
	if len(o.Shape) != 3 || o.Shape[2] == 0 || o.Shape[2] != picture.Channels(o.Order) || min(o.Shape[0], o.Shape[1]) < 1 || o.Shape[0] > picture.MaxPixels/o.Shape[1] {
		return fmt.Errorf("pictures of shape %v, %q", o.Shape, o.Order)
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
	file := []byte(in[0].Strings[0])
	height, width, err := picture.Size(file)
	if err != nil {
		return nil, err
	}
	if height != o.Shape[0] || width != o.Shape[1] {
		return nil, fmt.Errorf("a picture of %d × %d pixels (width × height), and the key is of pictures of %d × %d", width, height, o.Shape[1], o.Shape[0])
	}
	out, err := b.ofNumbers(slices.Clone(o.Shape))
	if err != nil {
		return nil, err
	}
	_, _, pixels, err := picture.Decode(file, o.Order)
	if err != nil {
		return nil, err
	}
	for i, p := range pixels {
		out.Numbers[i] = float64(p)
	}
	return []Array{out}, nil
}

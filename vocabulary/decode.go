package vocabulary

import "github.com/prove-model/prove-model/internal/refuse"

// Decode is ImageDecoder: it decodes the file of a picture to pixels.
type Decode struct {
	Order string `json:"order"` // of the channels: RGB, BGR or Grayscale
	Shape []int  `json:"shape"` // height, width, channels; a picture of another size is refused
}

// Decoder decodes the file of a picture to pixels, row by row. Each pixel has a byte for every channel of the order. A
// Decoder must bound what it makes. It is an argument of Map, so that programs that only read vocabularies need no
// decoders.
type Decoder func(file []byte, order string) (height, width int, pixels []byte, err error)

func (o *Decode) check() {
	channels := map[string]int{"RGB": 3, "BGR": 3, "Grayscale": 1}[o.Order]
	refuse.If(len(o.Shape) != 3 || channels == 0 || o.Shape[2] != channels || min(o.Shape[0], o.Shape[1]) < 1,
		"pictures of shape %v, %q", o.Shape, o.Order)
	size(o.Shape)
}

func (o *Decode) shapes(in [][]Dim) [][]Dim {
	refuse.If(len(in[0]) != 0, "it takes one file")
	return [][]Dim{known(o.Shape)}
}

func (o *Decode) run(in []Array, shape []int, b *budget) []Array {
	refuse.If(b.decode == nil, "this program decodes no pictures")
	out := b.ofNumbers(shape)
	height, width, pixels, err := b.decode([]byte(in[0].Strings[0]), o.Order)
	refuse.If(err != nil, "%w", err)
	refuse.If(height != o.Shape[0] || width != o.Shape[1] || len(pixels) != len(out.Numbers),
		"a picture of %d × %d pixels (width × height), and the key is of pictures of %d × %d", width, height, o.Shape[1], o.Shape[0])
	for i, p := range pixels {
		out.Numbers[i] = float64(p)
	}
	return []Array{out}
}

package golden

import (
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// ReadWeights reads the values of g's fixed tensors from a gzip stream: one tensor
// after the other, dense and row-major. A value is a little-endian signed integer of 8,
// 16 or 32 bits, the fewest that hold the tensor's range.
func ReadWeights(r io.Reader, g *model.Graph) (_ model.Weights, err error) {
	defer must.Catch(&err)
	z := must.Get(gzip.NewReader(r))
	w := make(model.Weights, len(g.Tensors))
	for _, id := range g.FixedIDs() {
		t := &g.Tensors[id]
		n, width := model.Size(t.Shape), width(t)
		b := make([]byte, width*n)
		must.GetAs(io.ReadFull(z, b))("weights of %q", t.Name)
		w[id], _ = ints.Make(n, width, func(dst []int32, from int) {
			for i := range dst {
				switch v := b[(from+i)*width:]; width {
				case 1:
					dst[i] = int32(int8(v[0]))
				case 2:
					dst[i] = int32(int16(binary.LittleEndian.Uint16(v)))
				default:
					dst[i] = int32(binary.LittleEndian.Uint32(v))
				}
			}
		})
	}
	if n, err := io.Copy(io.Discard, z); n != 0 || err != nil {
		return nil, fmt.Errorf("%d bytes after the weights: %v", n, err)
	}
	return w, nil
}

// WriteWeights writes the stream that ReadWeights reads.
func WriteWeights(out io.Writer, g *model.Graph, w model.Weights) (err error) {
	defer must.Catch(&err)
	z := must.Get(gzip.NewWriterLevel(out, gzip.BestCompression))
	for _, id := range g.FixedIDs() {
		t := &g.Tensors[id]
		b := make([]byte, 0, width(t)*w[id].Len())
		for i, v := range ints.All(w[id]) {
			if int64(v) < t.Min || int64(v) > t.Max {
				return fmt.Errorf("entry %d of %q is %d, outside of [%d, %d]", i, t.Name, v, t.Min, t.Max)
			}
			switch width(t) {
			case 1:
				b = append(b, byte(v))
			case 2:
				b = binary.LittleEndian.AppendUint16(b, uint16(v))
			default:
				b = binary.LittleEndian.AppendUint32(b, uint32(v))
			}
		}
		must.Get(z.Write(b))
	}
	return z.Close()
}

// width returns the number of bytes of a tensor's values.
func width(t *model.Tensor) int { return ints.WidthFor(max(t.Max, -t.Min-1)) }

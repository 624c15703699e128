package device

import (
	"errors"
	"math/bits"
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// Tensor is a dense tensor of signed integers in a device's memory, in the
// narrowest type that holds its entries.
type Tensor struct {
	Ptr   kernels.Ptr
	Len   int
	Width int // bytes an entry: 1, 2 or 4
}

// newTensor returns a tensor of that length and width, which fill fills. After an error, or a panic, nothing is left of it.
func newTensor(dev kernels.Device, t Tensor, fill func(at kernels.Ptr) error) (*Tensor, error) {
	a := NewScope(dev)
	defer a.Close()
	var err error
	if t.Ptr, err = a.Alloc(t.Len * t.Width); err == nil {
		err = fill(t.Ptr)
	}
	if err != nil {
		return nil, err
	}
	a.Release(t.Ptr)
	return &t, nil
}

// NewTensor uploads values, at least one.
func NewTensor(dev kernels.Device, values ints.Ints) (*Tensor, error) {
	t := Tensor{Len: values.Len(), Width: Width(values)}
	return newTensor(dev, t, func(at kernels.Ptr) error { return UploadAs(dev, at, values, t.Width) })
}

// NewTensor uploads values through one stream, for all streams to read.
func (m *Context) NewTensor(dev kernels.Device, values ints.Ints) (*Tensor, error) {
	t := Tensor{Len: values.Len(), Width: Width(values)}
	return newTensor(dev, t, func(at kernels.Ptr) error {
		err := UploadAs(dev, at, values, t.Width)
		if err == nil && (m.Streams > 1 || dev != kernels.Device(m.Dev)) {
			err = dev.Sync() // other queues know nothing of what this one has yet to do
		}
		return err
	})
}

// Copied copies a tensor of another device to memory of dev, and waits for that, so that every
// queue may read it and the other one may be freed. It returns nil if the other device
// fails to give it.
func Copied(dev kernels.Device, there *Tensor, from kernels.Device) (*Tensor, error) {
	t, err := newTensor(dev, *there, func(at kernels.Ptr) error {
		if err := kernels.CopyFrom(dev, at, from, there.Ptr, there.Len*there.Width); err != nil {
			return err
		}
		return dev.Sync()
	})
	if errors.As(err, new(*kernels.SourceError)) {
		return nil, nil
	}
	return t, err
}

// UploadAs copies values, which fit, to dst in entries of that width.
func UploadAs(d kernels.Device, dst kernels.Ptr, values ints.Ints, width int) error {
	if values.Width() != width {
		values = ints.Int32s(ints.All(values))
	}
	v, ok := values.(ints.Int32s)
	switch {
	case !ok || width == 4:
		return d.Upload(dst, ints.Bytes(values))
	case width == 1:
		return upload[int8](d, dst, v)
	}
	return upload[int16](d, dst, v)
}

// Free frees the tensor.
func (t *Tensor) Free(d kernels.Device) { d.Free(t.Ptr) }

// Width returns the bytes that an entry takes on a device. Lists in 32 bits are
// what was computed, in whatever width; others have the one that they need.
func Width(values ints.Ints) int {
	if v, ok := values.(ints.Int32s); ok {
		return ints.WidthOf(v)
	}
	return values.Width()
}

// tensorGrain is the number of entries worth a goroutine.
const tensorGrain = 1 << 16

// uploadPiece is how many entries are narrowed at a time.
const uploadPiece = 1 << 22

// upload narrows values to T piece by piece and copies them to dst.
func upload[T int8 | int16](d kernels.Device, dst kernels.Ptr, values []int32) error {
	buf := make([]T, min(len(values), uploadPiece))
	for part := range slices.Chunk(values, uploadPiece) {
		parallel.For(len(part), tensorGrain, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				buf[i] = T(part[i])
			}
		})
		if err := kernels.UploadSlice(d, dst, buf[:len(part)]); err != nil {
			return err
		}
		dst = kernels.At[T](dst, len(part))
	}
	return nil
}

// WidthOfRange returns the bytes of the narrowest type for a range.
func WidthOfRange(lo, hi int64) int {
	if lo == 0 && hi == 0 { // not stated
		return 4
	}
	return ints.WidthFor(max(hi, -1-lo))
}

// DefaultPiece is the size of a piece, in bytes, where no other is set.
const DefaultPiece = 1 << 28

// RowPiece is how many bytes of rows an opening packs at a time: with a piece that a budget has set no more than that, else more, since the
// host lists the products of every piece.
func (m *Context) RowPiece() int {
	if m.Piece == DefaultPiece {
		return 4 * DefaultPiece
	}
	return m.Piece
}

// PieceRows returns how many indexes of the first axis make a piece of at most
// so many bytes, a power of two.
func PieceRows(rowBytes, piece int) int {
	return 1 << (bits.Len(uint(max(piece/rowBytes, 1))) - 1)
}

func (t *Tensor) Integers() kernels.Integers { return kernels.Integers{At: t.Ptr, Width: t.Width} }

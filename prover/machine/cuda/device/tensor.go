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

// newTensor allocates a tensor of t's length and width and calls fill to fill it. After an error or a panic its memory is freed.
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

// NewTensor uploads values, at least one, in the narrowest width. The upload is enqueued on dev, whose later work may read the tensor;
// other queues have to wait for dev.
func NewTensor(dev kernels.Device, values ints.Ints) (*Tensor, error) {
	t := Tensor{Len: values.Len(), Width: Width(values)}
	return newTensor(dev, t, func(at kernels.Ptr) error { return UploadAs(dev, at, values, t.Width) })
}

// NewTensor uploads values through the stream dev, for all streams to read: it waits for the upload unless dev is the only stream.
func (m *Context) NewTensor(dev kernels.Device, values ints.Ints) (*Tensor, error) {
	t := Tensor{Len: values.Len(), Width: Width(values)}
	return newTensor(dev, t, func(at kernels.Ptr) error {
		err := UploadAs(dev, at, values, t.Width)
		if err == nil && (m.Streams > 1 || dev != kernels.Device(m.Dev)) {
			err = dev.Sync() // other queues do not wait for this one
		}
		return err
	})
}

// Copied copies a tensor of another device to memory of dev. It waits for the copy, so that every queue may then read the copy, and
// the original may be freed. It returns nil and no error if the other device fails; an error is dev's own.
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

// UploadAs uploads values to dst in entries of `width` bytes, which must hold them.
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

// Width returns the bytes that an entry takes on a device. Lists of 8 and 16 bits keep their width. A list of 32 bits may hold
// computed values of any size, so it gets the narrowest width that holds them all.
func Width(values ints.Ints) int {
	if v, ok := values.(ints.Int32s); ok {
		return ints.WidthOf(v)
	}
	return values.Width()
}

// tensorGrain is the number of entries that are worth a goroutine of their own.
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

// WidthOfRange returns the bytes of the narrowest signed type that holds [lo, hi], 4 if the range is not stated (0, 0).
func WidthOfRange(lo, hi int64) int {
	if lo == 0 && hi == 0 { // not stated
		return 4
	}
	return ints.WidthFor(max(hi, -1-lo))
}

// DefaultPiece is the size of a piece, in bytes, where no other is set.
const DefaultPiece = 1 << 28

// RowPiece is how many bytes of rows an opening packs at a time. If a memory budget has set Piece, it is Piece. Otherwise it is four
// times the default: the host has to list the products of every piece, so fewer pieces take it less time.
func (m *Context) RowPiece() int {
	if m.Piece == DefaultPiece {
		return 4 * DefaultPiece
	}
	return m.Piece
}

// PieceRows returns how many rows of rowBytes, indexes of a tensor's first axis, make a piece of at most `piece` bytes: a power of
// two, at least 1.
func PieceRows(rowBytes, piece int) int {
	return 1 << (bits.Len(uint(max(piece/rowBytes, 1))) - 1)
}

// Integers returns where the entries lie, and their width, as kernels take it.
func (t *Tensor) Integers() kernels.Integers { return kernels.Integers{At: t.Ptr, Width: t.Width} }

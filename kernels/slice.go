package kernels

import (
	"fmt"
	"unsafe"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
)

// Element is a type that has the same representation on the host and on devices.
type Element interface {
	int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64 | field.M31 | field.QM31 | hash.Digest | ~[16]field.M31 |
		Ptr | StackBlock | StackAxis | WeightPart | DotJob | AddJob | RowPart | FinishDot | PlacedElement | PointWeight | ByteRow | PackedRows | ByteProduct | productBlock | joinedProduct | KeyCount | LeafJob | RowJob | ColumnJob
}

// Bytes returns the memory of s as bytes.
func Bytes[T Element](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(*new(T))))
}

// PostedWords returns how many words of a result buffer n elements of K take, as launches write them.
func PostedWords(n int) int { return 2 * n }

// Posted returns the elements of K in words of a result buffer. They share the memory of words.
func Posted(words []uint64) []field.QM31 {
	return unsafe.Slice((*field.QM31)(unsafe.Pointer(&words[0])), len(words)/2)
}

// AllocSlice allocates n > 0 elements.
func AllocSlice[T Element](d Device, n int) (Ptr, error) {
	size := int(unsafe.Sizeof(*new(T)))
	if n <= 0 || n > (1<<62)/size {
		return 0, fmt.Errorf("device memory for %d elements of %d bytes", n, size)
	}
	return d.Alloc(n * size)
}

// UploadSlice copies src to dst.
func UploadSlice[T Element](d Device, dst Ptr, src []T) error { return d.Upload(dst, Bytes(src)) }

// NewSlice allocates memory for src, which must not be empty, and copies it
// there.
func NewSlice[T Element](d Device, src []T) (Ptr, error) {
	p, err := AllocSlice[T](d, len(src))
	if err != nil {
		return 0, err
	}
	if err := UploadSlice(d, p, src); err != nil {
		d.Free(p)
		return 0, err
	}
	return p, nil
}

// DownloadSlice waits for the queue and copies src to dst.
func DownloadSlice[T Element](d Device, dst []T, src Ptr) error { return d.Download(Bytes(dst), src) }

// At returns the address of element i of an array of T at p.
func At[T Element](p Ptr, i int) Ptr { return p + Ptr(i*int(unsafe.Sizeof(*new(T)))) }

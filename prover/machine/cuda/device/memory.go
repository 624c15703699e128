package device

import (
	"github.com/prove-model/prove-model/kernels"
)

// NewArray returns memory for n ≥ 1 elements.
func NewArray[T kernels.Element](d kernels.Device, n int) kernels.Ptr {
	return Get(kernels.AllocSlice[T](d, n))
}

// NewCopy returns a copy of a slice that is not empty.
func NewCopy[T kernels.Element](d kernels.Device, s []T) kernels.Ptr {
	return Get(kernels.NewSlice(d, s))
}

// NewWords returns n ≥ 1 words of zeros.
func NewWords(d kernels.Device, n int) kernels.Ptr {
	p := NewArray[uint64](d, n)
	Check(d.Clear(p, 8*n))
	return p
}

// Fetch returns a copy of n elements.
func Fetch[T kernels.Element](d kernels.Device, p kernels.Ptr, n int) []T {
	s := make([]T, n)
	Check(kernels.DownloadSlice(d, s, p))
	return s
}

// ElementBytes is the size of an element of K.
const ElementBytes = 16

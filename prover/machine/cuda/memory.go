package cuda

import (
	"github.com/prove-model/prove-model/kernels"
)

// newArray returns memory for n ≥ 1 elements.
func newArray[T kernels.Element](d kernels.Device, n int) kernels.Ptr {
	p, err := kernels.AllocSlice[T](d, n)
	check(err)
	return p
}

// newCopy returns a copy of a slice that is not empty.
func newCopy[T kernels.Element](d kernels.Device, s []T) kernels.Ptr {
	p, err := kernels.NewSlice(d, s)
	check(err)
	return p
}

// newWords returns n ≥ 1 words of zeros.
func newWords(d kernels.Device, n int) kernels.Ptr {
	p := newArray[uint64](d, n)
	check(d.Clear(p, 8*n))
	return p
}

// fetch returns a copy of n elements.
func fetch[T kernels.Element](d kernels.Device, p kernels.Ptr, n int) []T {
	s := make([]T, n)
	check(kernels.DownloadSlice(d, s, p))
	return s
}

// elementBytes is the size of an element of K.
const elementBytes = 16

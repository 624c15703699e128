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

// sums brings sums that launches add up to the host.
type sums struct {
	dev kernels.Device
	box kernels.Mailbox
}

// sumsWords is the memory that sums of that many words take: one more is for
// the launch.
func sumsWords(words int) int { return words + 1 }

// read runs a launch that adds to the words at p, and returns them. p is
// sumsWords(words) words of zero.
func (s sums) read(p kernels.Ptr, words int, launch func(kernels.Post) error) []uint64 {
	if words >= s.box.Words() {
		check(launch(kernels.Post{}))
		return fetch[uint64](s.dev, p, words)
	}
	check(launch(s.box.Post(kernels.At[uint64](p, words))))
	dst := make([]uint64, words)
	check(s.box.Wait(dst))
	return dst
}

// elementBytes is the size of an element of K.
const elementBytes = 16

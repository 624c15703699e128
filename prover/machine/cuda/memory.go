package cuda

import (
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/math/field"
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

// sums brings what launches leave in a mailbox to the host.
type sums struct {
	dev kernels.Device
	box kernels.Mailbox
}

// read runs a launch that makes sums of that many words, and returns them.
func (s sums) read(words int, launch func(kernels.Post) error) []uint64 {
	if words <= s.box.Words() {
		return s.posted(words, launch)
	}
	p := newWords(s.dev, words)
	defer s.dev.Free(p)
	check(launch(kernels.Kept(p)))
	return fetch[uint64](s.dev, p, words)
}

// elements runs a launch that writes n elements, and returns them.
func (s sums) elements(n int, launch func(kernels.Post) error) []field.QM31 {
	if words := kernels.PostedWords(n); words <= s.box.Words() {
		return kernels.Posted(s.posted(words, launch))
	}
	p := newArray[field.QM31](s.dev, n)
	defer s.dev.Free(p)
	check(launch(kernels.Kept(p)))
	return fetch[field.QM31](s.dev, p, n)
}

func (s sums) posted(words int, launch func(kernels.Post) error) []uint64 {
	check(launch(s.box.Post()))
	dst := make([]uint64, words)
	check(s.box.Wait(dst))
	return dst
}

// elementBytes is the size of an element of K.
const elementBytes = 16

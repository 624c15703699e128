package device

import (
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/math/field"
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

// Results brings what launches leave in a result buffer to the host.
type Results struct {
	Dev kernels.Device
	Box kernels.ResultBuffer
}

// Read runs a launch that makes sums of that many words, and returns them.
func (s Results) Read(words int, launch func(kernels.Post) error) []uint64 {
	if words > s.Box.Words() {
		p := NewWords(s.Dev, words)
		defer s.Dev.Free(p)
		Check(launch(kernels.Kept(p)))
		return Fetch[uint64](s.Dev, p, words)
	}
	Check(launch(s.Box.Post()))
	dst := make([]uint64, words)
	Check(s.Box.Wait(dst))
	return dst
}

// Elements runs a launch that writes n elements, and returns them.
func (s Results) Elements(n int, launch func(kernels.Post) error) []field.QM31 {
	return kernels.Posted(s.Read(kernels.PostedWords(n), launch))
}

package device

import (
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/math/field"
)

// NewArray allocates n ≥ 1 elements of type T, with undefined contents. The functions of this file give up after an error (Check).
func NewArray[T kernels.Element](d kernels.Device, n int) kernels.Ptr {
	return Get(kernels.AllocSlice[T](d, n))
}

// NewCopy allocates memory and uploads a slice that is not empty.
func NewCopy[T kernels.Element](d kernels.Device, s []T) kernels.Ptr {
	return Get(kernels.NewSlice(d, s))
}

// NewWords allocates n ≥ 1 words of 64 bits that are zero.
func NewWords(d kernels.Device, n int) kernels.Ptr {
	p := NewArray[uint64](d, n)
	Check(d.Clear(p, 8*n))
	return p
}

// Fetch waits for the queue and downloads n elements from p.
func Fetch[T kernels.Element](d kernels.Device, p kernels.Ptr, n int) []T {
	s := make([]T, n)
	Check(kernels.DownloadSlice(d, s, p))
	return s
}

// ElementBytes is the size of an element of K.
const ElementBytes = 16

// Results returns to the host what launches leave in a result buffer.
type Results struct {
	Dev kernels.Device
	Box kernels.ResultBuffer
}

// Read calls launch, which enqueues a kernel that adds up results of that many 64-bit words, waits for them and returns them. They
// come through the result buffer, or if they do not fit there through memory of the device and a download.
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

// Elements is Read for a launch that writes n elements of K.
func (s Results) Elements(n int, launch func(kernels.Post) error) []field.QM31 {
	return kernels.Posted(s.Read(kernels.PostedWords(n), launch))
}

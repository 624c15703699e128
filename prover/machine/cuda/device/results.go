package device

import (
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/math/field"
)

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

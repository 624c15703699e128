package cuda

import (
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/math/field"
)

// results brings what launches leave in a mailbox to the host.
type results struct {
	dev kernels.Device
	box kernels.Mailbox
}

// read runs a launch that makes sums of that many words, and returns them.
func (s results) read(words int, launch func(kernels.Post) error) []uint64 {
	if words <= s.box.Words() {
		return s.posted(words, launch)
	}
	p := newWords(s.dev, words)
	defer s.dev.Free(p)
	check(launch(kernels.Kept(p)))
	return fetch[uint64](s.dev, p, words)
}

// elements runs a launch that writes n elements, and returns them.
func (s results) elements(n int, launch func(kernels.Post) error) []field.QM31 {
	if words := kernels.PostedWords(n); words <= s.box.Words() {
		return kernels.Posted(s.posted(words, launch))
	}
	p := newArray[field.QM31](s.dev, n)
	defer s.dev.Free(p)
	check(launch(kernels.Kept(p)))
	return fetch[field.QM31](s.dev, p, n)
}

func (s results) posted(words int, launch func(kernels.Post) error) []uint64 {
	check(launch(s.box.Post()))
	dst := make([]uint64, words)
	check(s.box.Wait(dst))
	return dst
}

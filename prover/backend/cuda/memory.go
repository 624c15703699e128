package cuda

import (
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/field"
)

// newArray returns memory for n ≥ 1 elements.
func newArray[T kernels.Element](d kernels.Device, n int) kernels.Ptr {
	p, err := kernels.AllocSlice[T](d, n)
	backend.Check(err)
	return p
}

// newCopy returns a copy of a slice that is not empty.
func newCopy[T kernels.Element](d kernels.Device, s []T) kernels.Ptr {
	p, err := kernels.NewSlice(d, s)
	backend.Check(err)
	return p
}

// newWords returns n ≥ 1 words of zeros.
func newWords(d kernels.Device, n int) kernels.Ptr {
	p := newArray[uint64](d, n)
	backend.Check(d.Clear(p, 8*n))
	return p
}

// fetch returns a copy of n elements.
func fetch[T kernels.Element](d kernels.Device, p kernels.Ptr, n int) []T {
	s := make([]T, n)
	backend.Check(kernels.DownloadSlice(d, s, p))
	return s
}

// fetchPair returns the two sums of a round.
func fetchPair(d kernels.Device, p kernels.Ptr) (first, second field.QM31) {
	w := fetch[uint64](d, p, kernels.SumcheckRoundWords)
	return kernels.FromSum(w), kernels.FromSum(w[kernels.SumWords:])
}

// elementBytes is the size of an element of K.
const elementBytes = 16

package graph

import (
	"sync"
	"unsafe"
	"weak"

	"github.com/prove-model/prove-model/internal/parallel"
)

// Stored is a large float constant that stays in the encoding of the file that has it.
// Its numbers are decoded to float32 when they are needed, and dropped after use. Any
// number of goroutines may read it at once.
type Stored struct {
	n    int
	read func(dst []float32, from int)

	mu    sync.Mutex
	whole weak.Pointer[float32] // first element of the decoded numbers, as long as floats' callers use them
}

// NewStored returns a constant of n numbers, all finite. read sets dst to the numbers
// from index from on. It may be called for several parts at once, and must work until
// every graph with the constant is closed.
func NewStored(n int, read func(dst []float32, from int)) *Stored {
	return &Stored{n: n, read: read}
}

// Read sets dst to the numbers from index from on.
func (s *Stored) Read(dst []float32, from int) { s.read(dst, from) }

// floats returns all numbers, decoded, which must not be changed. Callers at the same
// time share one copy.
func (s *Stored) floats() []float32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.whole.Value(); p != nil {
		return unsafe.Slice(p, s.n)
	}
	v := make([]float32, s.n)
	parallel.For(s.n, grain, func(lo, hi int) { s.read(v[lo:hi], lo) })
	s.whole = weak.Make(unsafe.SliceData(v))
	return v
}

package graph

import (
	"sync"
	"unsafe"
	"weak"

	"github.com/prove-model/prove-model/internal/parallel"
)

// Stored are the numbers of a large float constant as they are stored, in whatever form:
// they are read when they are needed, and nobody keeps them in float32 for longer than
// somebody uses them. Any number of goroutines may read them at once.
type Stored struct {
	n    int
	read func(dst []float32, from int)

	mu    sync.Mutex
	whole weak.Pointer[float32] // the first of all numbers, while they are in use
}

// NewStored returns n numbers, all finite. read sets dst to those from the given one on;
// it may be called for several parts at once, as long as there is a graph with the
// constant that is not closed.
func NewStored(n int, read func(dst []float32, from int)) *Stored {
	return &Stored{n: n, read: read}
}

// Read sets dst to the numbers from the given one on.
func (s *Stored) Read(dst []float32, from int) { s.read(dst, from) }

// floats returns all numbers, which must not be changed.
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

package cuda

import (
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/backend"
)

// must ends the proof if a device call failed.
func must(err error) {
	if err != nil {
		panic(backend.Failure{Err: err})
	}
}

// memory is a device whose allocations are known, so that all can be returned
// when a proof ends early.
type memory struct {
	kernels.Device
	live map[kernels.Ptr]struct{}
}

// Alloc allocates and remembers.
func (m *memory) Alloc(bytes int) (kernels.Ptr, error) {
	p, err := m.Device.Alloc(bytes)
	if err == nil {
		m.live[p] = struct{}{}
	}
	return p, err
}

// Free frees and forgets.
func (m *memory) Free(p kernels.Ptr) {
	delete(m.live, p)
	m.Device.Free(p)
}

// freeAll frees what is left.
func (m *memory) freeAll() {
	for p := range m.live {
		m.Free(p)
	}
}

// alloc returns memory for n elements.
func alloc[T kernels.Element](m *memory, n int) kernels.Ptr {
	p, err := kernels.AllocSlice[T](m, n)
	must(err)
	return p
}

// upload returns a copy of a slice that is not empty.
func upload[T kernels.Element](m *memory, s []T) kernels.Ptr {
	p, err := kernels.NewSlice(m, s)
	must(err)
	return p
}

// zeroed returns n words of zeros.
func zeroed(m *memory, n int) kernels.Ptr {
	p := alloc[uint64](m, n)
	must(m.Clear(p, 8*n))
	return p
}

// download returns n elements.
func download[T kernels.Element](m *memory, p kernels.Ptr, n int) []T {
	s := make([]T, n)
	must(kernels.DownloadSlice(m, s, p))
	return s
}

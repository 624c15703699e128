package cuda

import (
	"sync"

	"github.com/prove-model/prove-model/kernels"
)

// scope is a device that remembers what was allocated through it, so that
// nothing is left behind by work that stopped halfway.
type scope struct {
	kernels.Device
	mu          sync.Mutex
	live        map[kernels.Ptr]int
	bytes, peak int64 // in live: now, at most
}

func newScope(d kernels.Device) *scope {
	return &scope{Device: d, live: map[kernels.Ptr]int{}}
}

// Alloc is described at kernels.Device.
func (s *scope) Alloc(bytes int) (kernels.Ptr, error) {
	p, err := s.Device.Alloc(bytes)
	if err == nil {
		s.mu.Lock()
		s.live[p] = bytes
		s.bytes += int64(bytes)
		s.peak = max(s.peak, s.bytes)
		s.mu.Unlock()
	}
	return p, err
}

// Free is described at kernels.Device.
func (s *scope) Free(p kernels.Ptr) {
	s.mu.Lock()
	s.bytes -= int64(s.live[p])
	delete(s.live, p)
	s.mu.Unlock()
	s.Device.Free(p)
}

// close frees everything.
func (s *scope) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := range s.live {
		s.Device.Free(p)
	}
	clear(s.live)
	s.bytes = 0
}

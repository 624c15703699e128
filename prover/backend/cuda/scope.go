package cuda

import (
	"sync"

	"github.com/prove-model/prove-model/kernels"
)

// scope is a device that remembers what was allocated through it, so that
// nothing is left behind by work that stopped halfway.
type scope struct {
	kernels.Device
	mu   sync.Mutex
	live map[kernels.Ptr]struct{}
}

func newScope(d kernels.Device) *scope {
	return &scope{Device: d, live: map[kernels.Ptr]struct{}{}}
}

// Alloc is described at kernels.Device.
func (s *scope) Alloc(bytes int) (kernels.Ptr, error) {
	p, err := s.Device.Alloc(bytes)
	if err == nil {
		s.mu.Lock()
		s.live[p] = struct{}{}
		s.mu.Unlock()
	}
	return p, err
}

// Free is described at kernels.Device.
func (s *scope) Free(p kernels.Ptr) {
	s.mu.Lock()
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
}

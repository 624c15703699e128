package cuda

import (
	"github.com/prove-model/prove-model/kernels"
)

// scope is a device that remembers what was allocated through it, so that
// nothing is left behind by work that stopped halfway.
type scope struct {
	kernels.Device
	ledger
}

func newScope(d kernels.Device) *scope {
	return &scope{Device: d, ledger: newLedger()}
}

// Beneath is described at kernels.Wrapper.
func (s *scope) Beneath() kernels.Device { return s.Device }

// Alloc is described at kernels.Device.
func (s *scope) Alloc(bytes int) (kernels.Ptr, error) { return s.alloc(s.Device, bytes) }

// Free is described at kernels.Device.
func (s *scope) Free(p kernels.Ptr) { s.free(s.Device, p) }

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

package device

import (
	"github.com/prove-model/prove-model/kernels"
)

// Scope is a device that remembers what was allocated through it, so that
// nothing is left behind by work that stopped halfway.
type Scope struct {
	kernels.Device
	ledger
}

func NewScope(d kernels.Device) *Scope {
	return &Scope{Device: d, ledger: newLedger()}
}

// Beneath is described at kernels.Wrapper.
func (s *Scope) Beneath() kernels.Device { return s.Device }

// Alloc is described at kernels.Device.
func (s *Scope) Alloc(bytes int) (kernels.Ptr, error) { return s.alloc(s.Device, bytes) }

// Free is described at kernels.Device.
func (s *Scope) Free(p kernels.Ptr) { s.free(s.Device, p) }

// Close frees everything.
func (s *Scope) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := range s.live {
		s.Device.Free(p)
	}
	clear(s.live)
	s.bytes = 0
}

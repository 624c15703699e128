package device

import "github.com/prove-model/prove-model/kernels"

// Scope is a device that remembers what was allocated through it, so that
// nothing is left behind by work that stopped halfway.
type Scope struct {
	kernels.Device
	ledger

	parts map[kernels.Ptr]*area // by the address of a part
}

// area is an allocation in parts, of which some are still in use.
type area struct {
	at   kernels.Ptr
	left int
}

func NewScope(d kernels.Device) *Scope {
	return &Scope{Device: d, ledger: ledger{live: map[kernels.Ptr]int{}}, parts: map[kernels.Ptr]*area{}}
}

// Beneath is described at kernels.Wrapper.
func (s *Scope) Beneath() kernels.Device { return s.Device }

// Alloc is described at kernels.Device.
func (s *Scope) Alloc(bytes int) (kernels.Ptr, error) { return s.alloc(s.Device, bytes) }

// Several allocates areas of at least one byte each, one directly after the other. Each is freed by
// itself, but gives its memory back with the last of them.
func (s *Scope) Several(bytes []int) ([]kernels.Ptr, error) {
	all := 0
	for _, n := range bytes {
		all += n
	}
	at, err := s.Alloc(all)
	if err != nil {
		return nil, err
	}
	whole := &area{at, len(bytes)}
	list := make([]kernels.Ptr, len(bytes))
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, n := range bytes {
		list[i] = at
		s.parts[at] = whole
		at += kernels.Ptr(n)
	}
	return list, nil
}

// Free is described at kernels.Device.
func (s *Scope) Free(p kernels.Ptr) {
	s.mu.Lock()
	if x := s.parts[p]; x != nil {
		delete(s.parts, p)
		if p, x.left = x.at, x.left-1; x.left > 0 {
			p = 0
		}
	}
	s.mu.Unlock()
	if p != 0 {
		s.free(s.Device, p)
	}
}

// Release has an allocation, which is not one of Several, outlive the scope.
func (s *Scope) Release(p kernels.Ptr) { s.forget(p) }

// Close frees everything.
func (s *Scope) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.parts)
	for p := range s.live {
		s.Device.Free(p)
	}
	clear(s.live)
	s.bytes = 0
}

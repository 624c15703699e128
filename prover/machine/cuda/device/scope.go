package device

import "github.com/prove-model/prove-model/kernels"

// A Scope is a device that records what is allocated through it. Close frees all that was not freed before, so that work that stops
// halfway leaves nothing behind. Memory is freed in the order of the device's queue (kernels.Device), so what is enqueued there may
// still use it; another queue that reads it must have been waited for.
type Scope struct {
	kernels.Device
	ledger

	parts map[kernels.Ptr]*area // by the address of a part
}

// area is an allocation that Several has divided into parts.
type area struct {
	at   kernels.Ptr
	left int // parts that are not freed yet
}

// NewScope returns a scope without allocations on d.
func NewScope(d kernels.Device) *Scope {
	return &Scope{Device: d, ledger: ledger{live: map[kernels.Ptr]int{}}, parts: map[kernels.Ptr]*area{}}
}

// Beneath is described at kernels.Wrapper.
func (s *Scope) Beneath() kernels.Device { return s.Device }

// Alloc is described at kernels.Device.
func (s *Scope) Alloc(bytes int) (kernels.Ptr, error) { return s.alloc(s.Device, bytes) }

// Several allocates areas of bytes[i] ≥ 1 bytes, one directly after the other, in one allocation. Each is freed by itself (Free); the
// allocation is freed with the last of them.
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

// Release removes an allocation, which is not one of Several, from the scope: Close does not free it, and the caller owns it.
func (s *Scope) Release(p kernels.Ptr) { s.forget(p) }

// Close frees everything that is still allocated.
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

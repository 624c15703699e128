package devicetest

import (
	"fmt"
	"sync"

	"github.com/prove-model/prove-model/kernels"
)

// ErrInjected is the error of the operations that a Faulty makes fail.
var ErrInjected = fmt.Errorf("%w: injected", kernels.ErrMemory)

// Faulty is a device on which one allocation fails, or several. It also counts allocations and their bytes.
type Faulty struct {
	kernels.Device
	mu     sync.Mutex
	failAt int // how many allocations succeed before the next failure; negative: all
	every  int // after a failure, the number of the next allocation that fails, from there; 0: none
	allocs int
	failed int
	live   map[kernels.Ptr]int
	bytes  int // sum over live
	peak   int
}

// NewFaulty returns a device on d whose first n allocations succeed and whose next one
// fails; all later ones succeed. If n is negative none fails.
func NewFaulty(d kernels.Device, n int) *Faulty {
	return &Faulty{Device: d, failAt: n, live: map[kernels.Ptr]int{}}
}

// Every makes each n-th allocation after the first failing one fail too. It returns f.
func (f *Faulty) Every(n int) *Faulty {
	f.every = n
	return f
}

// read returns a number that is guarded by a lock.
func read(mu *sync.Mutex, v *int) int {
	mu.Lock()
	defer mu.Unlock()
	return *v
}

// Failed returns how many allocations have failed.
func (f *Faulty) Failed() int { return read(&f.mu, &f.failed) }

// Alloc allocates, or fails.
func (f *Faulty) Alloc(bytes int) (kernels.Ptr, error) {
	f.mu.Lock()
	fail := f.allocs == f.failAt
	f.allocs++
	if fail {
		f.failed++
		f.failAt += f.every
	}
	f.mu.Unlock()
	if fail {
		return 0, ErrInjected
	}
	p, err := f.Device.Alloc(bytes)
	if err == nil {
		f.mu.Lock()
		f.live[p] = bytes
		f.bytes += bytes
		f.peak = max(f.peak, f.bytes)
		f.mu.Unlock()
	}
	return p, err
}

// Free frees.
func (f *Faulty) Free(p kernels.Ptr) {
	f.mu.Lock()
	f.bytes -= f.live[p]
	delete(f.live, p)
	f.mu.Unlock()
	f.Device.Free(p)
}

// Allocs returns how often Alloc was called.
func (f *Faulty) Allocs() int { return read(&f.mu, &f.allocs) }

// Live returns the bytes that were allocated through f and not freed.
func (f *Faulty) Live() int { return read(&f.mu, &f.bytes) }

// Peak returns the most bytes that were allocated at once since ResetPeak.
func (f *Faulty) Peak() int { return read(&f.mu, &f.peak) }

// ResetPeak starts Peak anew.
func (f *Faulty) ResetPeak() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.peak = f.bytes
}

// Beneath implements kernels.Wrapper.
func (f *Faulty) Beneath() kernels.Device { return f.Device }

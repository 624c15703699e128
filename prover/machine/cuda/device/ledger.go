package device

import (
	"cmp"
	"slices"
	"sort"
	"sync"

	"github.com/prove-model/prove-model/kernels"
)

// ledger remembers what is allocated on a device.
type ledger struct {
	mu          sync.Mutex
	live        map[kernels.Ptr]int
	bytes, peak int64 // in live: now, at most
	watched     int64 // at most since Watch
}

// alloc allocates on a device.
func (l *ledger) alloc(d kernels.Device, bytes int) (kernels.Ptr, error) {
	p, err := d.Alloc(bytes)
	if err == nil {
		l.mu.Lock()
		l.live[p] = bytes
		l.bytes += int64(bytes)
		l.most()
		l.mu.Unlock()
	}
	return p, err
}

// Book counts bytes as if they were allocated, or no more if negative.
func (l *ledger) Book(bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes += int64(bytes)
	l.most()
}

// most notes what is allocated.
func (l *ledger) most() {
	l.peak, l.watched = max(l.peak, l.bytes), max(l.watched, l.bytes)
}

// Watch begins anew what Watched returns.
func (l *ledger) Watch() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watched = l.bytes
}

// Watched returns the most bytes that were allocated at once since Watch.
func (l *ledger) Watched() int64 { return read(&l.mu, &l.watched) }

// Peak returns the most bytes that were allocated at once.
func (l *ledger) Peak() int64 { return read(&l.mu, &l.peak) }

// Live returns the bytes that are allocated.
func (l *ledger) Live() int64 { return read(&l.mu, &l.bytes) }

// free frees what alloc gave.
func (l *ledger) free(d kernels.Device, p kernels.Ptr) {
	l.forget(p) // before the address can be another's
	d.Free(p)
}

// forget takes an allocation off the ledger.
func (l *ledger) forget(p kernels.Ptr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes -= int64(l.live[p])
	delete(l.live, p)
}

// read returns a value that a mutex guards.
func read[T any](mu *sync.Mutex, v *T) T {
	mu.Lock()
	defer mu.Unlock()
	return *v
}

// Extents are the allocations of a device at some time, by address. A copy between devices must not go beyond one.
type Extents []extent

type extent struct{ from, to kernels.Ptr }

// Extents returns what is allocated now.
func (l *ledger) Extents() Extents {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make(Extents, 0, len(l.live))
	for p, bytes := range l.live {
		all = append(all, extent{p, p.Offset(bytes, 1)})
	}
	slices.SortFunc(all, func(x, y extent) int { return cmp.Compare(x.from, y.from) })
	return all
}

// End returns where the allocation ends that has an address, or the address if none has it.
func (e Extents) End(p kernels.Ptr) kernels.Ptr {
	i := sort.Search(len(e), func(i int) bool { return e[i].from > p })
	if i == 0 || e[i-1].to <= p {
		return p
	}
	return e[i-1].to
}

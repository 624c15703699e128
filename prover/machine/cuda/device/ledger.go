package device

import (
	"cmp"
	"slices"
	"sort"
	"sync"

	"github.com/prove-model/prove-model/kernels"
)

// ledger records the allocations of a device.
type ledger struct {
	mu          sync.Mutex
	live        map[kernels.Ptr]int // bytes, by address
	bytes, peak int64               // in live and booked (Book): now, and the most at once
	watched     int64               // the most at once since Watch
}

// alloc allocates on a device and records it.
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

// Book counts bytes as if they were allocated. Negative bytes end that.
func (l *ledger) Book(bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes += int64(bytes)
	l.most()
}

// most updates the maxima after bytes has grown. The mutex is held.
func (l *ledger) most() {
	l.peak, l.watched = max(l.peak, l.bytes), max(l.watched, l.bytes)
}

// Watch resets what Watched returns to the bytes that are allocated now.
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

// free frees memory that alloc returned.
func (l *ledger) free(d kernels.Device, p kernels.Ptr) {
	l.forget(p) // first: once it is free, another goroutine may be given the same address
	d.Free(p)
}

// forget removes an allocation from the ledger without freeing it.
func (l *ledger) forget(p kernels.Ptr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes -= int64(l.live[p])
	delete(l.live, p)
}

// read returns a value that a mutex protects.
func read[T any](mu *sync.Mutex, v *T) T {
	mu.Lock()
	defer mu.Unlock()
	return *v
}

// Extents are the allocations of a device at one time, sorted by address. One copy between devices must stay within one allocation.
type Extents []extent

// extent is one allocation, [from, to).
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

// End returns the end of the allocation that contains p, or p itself if none does.
func (e Extents) End(p kernels.Ptr) kernels.Ptr {
	i := sort.Search(len(e), func(i int) bool { return e[i].from > p })
	if i == 0 || e[i-1].to <= p {
		return p
	}
	return e[i-1].to
}

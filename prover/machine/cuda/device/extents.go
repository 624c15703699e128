package device

import (
	"cmp"
	"slices"

	"github.com/prove-model/prove-model/kernels"
)

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
	i, found := slices.BinarySearchFunc(e, p, func(x extent, p kernels.Ptr) int { return cmp.Compare(x.from, p) })
	if !found {
		i--
	}
	if i < 0 || e[i].to <= p {
		return p
	}
	return e[i].to
}

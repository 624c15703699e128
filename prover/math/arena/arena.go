package arena

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/prove-model/prove-model/prover/math/field"
)

const (
	// unit is the size that buffers are rounded up to a multiple of. Smaller buffers are not taken from
	// an arena but from the garbage collector.
	unit = 64 << 10
	// mapUnit is the size that requests to the system are rounded up to a multiple of; it is a multiple of a huge page.
	mapUnit = 32 << 20
)

// Element is the set of types of buffers' elements, which have no pointers.
type Element interface {
	int8 | int32 | field.M31 | field.QM31
}

// Arena is memory for buffers of varying sizes. The zero value is ready for use. A nil Arena
// stands for garbage-collected memory. It is safe for concurrent use.
type Arena struct {
	parent            *Arena // the arena that this one takes its memory from (Sub), or nil
	mu                sync.Mutex
	maps              []mapping
	region            *region        // set if the first mapping can grow
	free              []span         // ordered by mapping and offset; neighbours are joined
	used              map[*byte]span // buffers in use, by their first byte
	size, inUse, peak int            // bytes mapped; bytes in use; the most that were in use
}

// mapping is memory from the system, or from the garbage collector if the system gives none.
type mapping struct {
	bytes []byte
	unmap func()
}

// region is a mapping of reserved addresses, of which the first grown bytes are memory. As it grows in place,
// freed buffers are neighbours of memory that is added later, and join with it.
type region struct{ grown int }

// span is a part of a mapping.
type span struct{ mapping, from, to int }

func (s span) len() int { return s.to - s.from }

// poison says whether memory is overwritten when it is made and when it is freed.
var poison atomic.Bool

// Poison makes all arenas overwrite memory when it is made and when it is freed, also that of small
// buffers, until restore is called. It is for tests.
func Poison() (restore func()) {
	old := poison.Swap(true)
	return func() { poison.Store(old) }
}

// Make returns a buffer of n elements, whose contents are undefined.
func Make[T Element](a *Arena, n int) []T {
	size := n * int(unsafe.Sizeof(*new(T)))
	if a == nil || n == 0 || size < unit && !poison.Load() {
		return make([]T, n)
	}
	b := a.take((size + unit - 1) / unit * unit)
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// Zeros is Make with elements that are zero.
func Zeros[T Element](a *Arena, n int) []T {
	v := Make[T](a, n)
	if a != nil {
		clear(v)
	}
	return v
}

// Free gives a buffer that Make returned back to the arena; v may also be a part that begins at the same
// element. It ignores other slices, such as those of another arena, and nil.
func Free[T Element](a *Arena, v []T) {
	if a != nil && cap(v) > 0 {
		a.give((*byte)(unsafe.Pointer(unsafe.SliceData(v))))
	}
}

// Sub returns an arena that takes its memory from a. When it is closed, buffers that are still in use go back to a,
// which keeps the memory for others.
func (a *Arena) Sub() *Arena { return &Arena{parent: a} }

// take returns size bytes, a multiple of unit.
func (a *Arena) take(size int) []byte {
	if b := current.Load(); b != nil {
		b.hand(size)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.used == nil {
		a.used = map[*byte]span{}
	}
	a.inUse += size
	a.peak = max(a.peak, a.inUse)
	if a.parent != nil {
		b := a.parent.take(size)
		a.used[unsafe.SliceData(b)] = span{0, 0, size}
		return b
	}
	best := -1
	for i, s := range a.free {
		if s.len() >= size && (best < 0 || s.len() < a.free[best].len()) {
			best = i
		}
	}
	if best < 0 {
		best = a.grow(size)
	}
	s := a.free[best]
	s.to = s.from + size
	if a.free[best].from += size; a.free[best].len() == 0 {
		a.free = slices.Delete(a.free, best, best+1)
	}
	b := a.maps[s.mapping].bytes[s.from:s.to:s.to]
	a.used[unsafe.SliceData(b)] = s
	spoil(b)
	return b
}

// grow adds a free span of at least size bytes and returns its index. If it needs a new mapping, it first gives mappings that are
// not in use back to the system, the largest first, until they amount to the new one's size.
func (a *Arena) grow(size int) int {
	if i := a.extend(size); i >= 0 {
		return i
	}
	size = (size + mapUnit - 1) / mapUnit * mapUnit
	for left := size; left > 0; {
		i := a.largestUnused()
		if i < 0 {
			break
		}
		left -= a.free[i].len()
		a.unmap(a.free[i].mapping)
		a.free = slices.Delete(a.free, i, i+1)
	}
	b, unmap := mapBytes(size)
	a.maps = append(a.maps, mapping{b, unmap})
	a.free = append(a.free, span{len(a.maps) - 1, 0, size})
	a.size += size
	return len(a.free) - 1
}

// extend grows the region until the free span at its end has at least size bytes, and returns
// the span's index. It returns −1 if there is no region, if its addresses do not suffice, or under a bound.
func (a *Arena) extend(size int) int {
	if current.Load() != nil {
		return -1
	}
	if a.region == nil && len(a.maps) == 0 {
		if b, unmap := reserve(); b != nil {
			a.maps, a.region = []mapping{{b, unmap}}, &region{}
		}
	}
	if a.region == nil {
		return -1
	}
	r := a.region
	end := slices.IndexFunc(a.free, func(s span) bool { return s.mapping == 0 && s.to == r.grown })
	have := 0
	if end >= 0 {
		have = a.free[end].len()
	}
	more := (size - have + mapUnit - 1) / mapUnit * mapUnit
	if more > len(a.maps[0].bytes)-r.grown || !use(a.maps[0].bytes[r.grown:r.grown+more]) {
		return -1
	}
	a.drop(more, end)
	s := span{0, r.grown, r.grown + more}
	r.grown += more
	a.size += more
	return a.insert(s)
}

// drop gives up to most bytes of pages of the region's free spans back to the system, those of the largest spans first. It leaves the span
// with index except alone. The addresses stay usable: their pages are zero when they are used again.
func (a *Arena) drop(most, except int) {
	var spans []span
	for i, s := range a.free {
		if s.mapping == 0 && i != except {
			spans = append(spans, s)
		}
	}
	slices.SortFunc(spans, func(x, y span) int { return y.len() - x.len() })
	for _, s := range spans {
		if most <= 0 {
			return
		}
		n := min(most, s.len())
		empty(a.maps[0].bytes[s.from : s.from+n])
		most -= n
	}
}

// largestUnused returns the index of the largest free span that is a whole mapping, or −1.
func (a *Arena) largestUnused() int {
	best := -1
	for i, s := range a.free {
		if s.len() == len(a.maps[s.mapping].bytes) && (best < 0 || s.len() > a.free[best].len()) {
			best = i
		}
	}
	return best
}

// unmap gives mapping i back to the system. Other mappings keep their indexes.
func (a *Arena) unmap(i int) {
	m := a.maps[i]
	if m.unmap != nil {
		m.unmap()
		a.size -= len(m.bytes)
		a.maps[i] = mapping{}
	}
}

// give frees the buffer that begins with the byte first, if there is one.
func (a *Arena) give(first *byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s, ok := a.used[first]
	if !ok {
		return
	}
	delete(a.used, first)
	a.inUse -= s.len()
	if a.parent != nil {
		a.parent.give(first)
		return
	}
	spoil(a.maps[s.mapping].bytes[s.from:s.to])
	a.insert(s)
}

// insert adds a free span, joins it with its neighbours, and returns the index of the span that it is then a part of.
func (a *Arena) insert(s span) int {
	i, _ := slices.BinarySearchFunc(a.free, s, func(x, s span) int {
		if x.mapping != s.mapping {
			return x.mapping - s.mapping
		}
		return x.from - s.from
	})
	a.free = slices.Insert(a.free, i, s)
	a.join(i)
	if i > 0 && a.join(i-1) {
		return i - 1
	}
	return i
}

// join makes one span of free span i and the next one if they are neighbours, and reports whether
// they were.
func (a *Arena) join(i int) bool {
	if i+1 >= len(a.free) || a.free[i].mapping != a.free[i+1].mapping || a.free[i].to != a.free[i+1].from {
		return false
	}
	a.free[i].to = a.free[i+1].to
	a.free = slices.Delete(a.free, i+1, i+2)
	return true
}

// spoil overwrites memory whose contents nobody may rely on, if Poison is in force.
func spoil(b []byte) {
	if poison.Load() {
		for i := range b {
			b[i] = 0xa5
		}
	}
}

// Close gives all memory back, that of buffers in use included: to the system, or to the arena
// that this is a Sub of. The arena may then be used again, like a new one.
func (a *Arena) Close() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.region != nil { // unmap counts the whole mapping, but only grown bytes of a region are in size
		a.maps[0].unmap()
		a.size -= a.region.grown
		a.maps[0], a.region = mapping{}, nil
	}
	for i := range a.maps {
		a.unmap(i)
	}
	if a.parent != nil {
		for first := range a.used {
			a.parent.give(first)
		}
	}
	a.maps, a.free, a.used, a.inUse = nil, nil, nil, 0
}

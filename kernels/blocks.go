//go:build cuda && cgo && linux && (amd64 || arm64)

package kernels

import (
	"math/bits"
	"sync"
)

// smallBlocks keeps small blocks of memory that a queue has freed, for later allocations in the
// same queue: an allocation from the driver's pool takes as long as half a launch. Reuse is safe
// since later operations of the queue come after all that used the block before. The zero value
// has no blocks.
type smallBlocks struct {
	mu    sync.Mutex
	free  [smallClasses][]Ptr // by class: class k has blocks of alignment·2^k bytes
	bytes int
}

const (
	// smallClasses is the number of sizes of blocks: from alignment to half a megabyte.
	smallClasses = 12
	// mostSmall is the most memory, in bytes, that a queue keeps so.
	mostSmall = 16 << 20
)

// smallClass returns the class of the blocks that an allocation takes; ok is false if the allocation is too large.
func smallClass(bytes int) (class int, ok bool) {
	class = bits.Len(uint((bytes - 1) / alignment))
	return class, class < smallClasses
}

// take returns a block for an allocation, 0 if there is none. size is how many bytes to allocate then.
func (s *smallBlocks) take(bytes int) (p Ptr, size int) {
	class, ok := smallClass(bytes)
	if !ok {
		return 0, bytes
	}
	size = alignment << class
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free[class]); n > 0 {
		p, s.free[class] = s.free[class][n-1], s.free[class][:n-1]
		s.bytes -= size
	}
	return p, size
}

// put keeps the block of a freed allocation of so many bytes. It returns false if it does not, and the caller frees the
// block.
func (s *smallBlocks) put(p Ptr, bytes int) bool {
	class, ok := smallClass(bytes)
	size := alignment << class
	s.mu.Lock()
	defer s.mu.Unlock()
	if !ok || s.bytes+size > mostSmall {
		return false
	}
	s.free[class] = append(s.free[class], p)
	s.bytes += size
	return true
}

// empty returns all blocks, and forgets them; the caller frees them.
func (s *smallBlocks) empty() []Ptr {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Ptr
	for class := range s.free {
		all = append(all, s.free[class]...)
		s.free[class] = nil
	}
	s.bytes = 0
	return all
}

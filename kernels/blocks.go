//go:build cuda && cgo && linux && (amd64 || arm64)

package kernels

import (
	"math/bits"
	"sync"
)

// smallBlocks are blocks of memory of a queue that are not in use, to be used again by it: an
// allocation from the driver's pool takes as long as half a launch. What comes after in the queue
// comes after all that read the block before. The zero value has none.
type smallBlocks struct {
	mu    sync.Mutex
	free  [smallClasses][]Ptr // of 2^(k + log2 alignment) bytes
	bytes int
}

const (
	// smallClasses are the sizes of blocks: from alignment to half a megabyte.
	smallClasses = 12
	// mostSmall is the most memory, in bytes, that a queue keeps so.
	mostSmall = 16 << 20
)

// smallClass returns the class of an allocation; ok says that there is one.
func smallClass(bytes int) (class int, ok bool) {
	class = bits.Len(uint((bytes - 1) / alignment))
	return class, class < smallClasses
}

// take returns a block for an allocation, 0 if there is none, and the size of one.
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

// put takes a block back, of an allocation of so many bytes, or returns false.
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

// empty returns all blocks, which are the caller's to free.
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

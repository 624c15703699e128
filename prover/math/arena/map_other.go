//go:build !linux

package arena

// mapMemory returns size bytes of garbage-collected memory.
func mapMemory(size int) (b []byte, unmap func()) { return make([]byte, size), func() {} }

// reserve returns nil: there are no regions on this system.
func reserve() (b []byte, unmap func()) { return nil, nil }

// use is not called, as there are no regions.
func use([]byte) bool { return false }

// empty is not called, as there are no regions.
func empty([]byte) {}

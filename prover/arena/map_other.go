//go:build !linux

package arena

// mapBytes returns size bytes of the collector's memory.
func mapBytes(size int) (b []byte, unmap func()) { return make([]byte, size), func() {} }

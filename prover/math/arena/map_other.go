//go:build !linux

package arena

// mapMemory returns size bytes of the collector's memory.
func mapMemory(size int) (b []byte, unmap func()) { return make([]byte, size), func() {} }

// reserve returns nothing: addresses and memory are the collector's.
func reserve() (b []byte, unmap func()) { return nil, nil }

func use([]byte) bool { return false }

func empty([]byte) {}

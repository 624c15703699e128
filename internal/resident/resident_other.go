//go:build !linux

package resident

// Now returns the sizes of this process, and whether they are known.
func Now() (Sizes, bool) { return Sizes{}, false }

// Available returns the bytes of memory that the system says are free, 0 if it does not.
func Available() int64 { return 0 }

// Container returns the bytes that the container may have which this process is in, and
// which file says so; 0 if there is no limit.
func Container() (bytes int64, from string) { return 0, "" }

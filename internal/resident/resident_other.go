//go:build !linux

package resident

// Now returns the sizes of this process, and whether they are known.
func Now() (Sizes, bool) { return Sizes{}, false }

// Available returns 0: nothing is known.
func Available() int64 { return 0 }

// Container returns 0: nothing is known.
func Container() (bytes int64, from string) { return 0, "" }

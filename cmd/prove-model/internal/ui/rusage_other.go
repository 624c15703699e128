//go:build !unix

package ui

// PeakMemory returns the largest resident size of this process so far, in
// bytes, or 0 where the system does not say.
func PeakMemory() int64 { return 0 }

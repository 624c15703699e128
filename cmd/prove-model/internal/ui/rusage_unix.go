//go:build unix

package ui

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// PeakMemory returns the largest resident size of this process so far, in
// bytes, or 0 where the system does not say.
func PeakMemory() int64 {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(r.Maxrss) // the others count in kilobytes
	}
	return int64(r.Maxrss) << 10
}

// processorTime returns the processor time this process has taken, on all
// cores together, or 0 where the system does not say.
func processorTime() time.Duration {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

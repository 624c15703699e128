//go:build unix

package ui

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// PeakMemory returns the largest resident size of this process so far, in
// bytes, or 0 where the system does not say.
func PeakMemory() int64 {
	// On Linux the maximum that getrusage gives starts from that of the process that started this one, so VmHWM is used
	// instead.
	if peak := highWater(); peak > 0 {
		return peak
	}
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(r.Maxrss) // the others count in kilobytes
	}
	return int64(r.Maxrss) << 10
}

// highWater returns VmHWM of /proc/self/status in bytes, 0 where there is none.
func highWater() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	var kb int64
	if _, err := fmt.Sscanf(string(rest), "%d kB", &kb); err != nil {
		return 0
	}
	return kb << 10
}

// ProcessorTime returns the processor time this process has taken, on all
// cores together, or 0 where the system does not say.
func ProcessorTime() time.Duration {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

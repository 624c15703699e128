package main

import (
	"os"
	"runtime/debug"
)

// Settings of the garbage collector (GOGC), unless the environment sets it. While a model is
// read, little memory is in use, and collections may be late. A large proof has hundreds of
// megabytes in use, almost all of them lists of numbers, which take no time to scan. There
// collections are early, so that memory is reused.
const (
	readingPercent = 200
	provingPercent = 100
	largePercent   = 50
	largeFile      = 16 << 20 // bytes of a model; folders may have as many
	largeProof     = 1 << 30  // bytes, by the estimate
)

// collectWhileReading is for the time before there is an estimate. Models in small files are left
// alone: they take a few megabytes.
func collectWhileReading(model string) {
	if st, err := os.Stat(model); collectorIsSet() || err != nil || st.Mode().IsRegular() && st.Size() < largeFile {
		return
	}
	debug.SetGCPercent(readingPercent)
}

// collectFor is for a proof that takes so many bytes.
func collectFor(bytes int64) {
	if collectorIsSet() {
		return
	}
	if bytes >= largeProof {
		debug.SetGCPercent(largePercent)
	} else {
		debug.SetGCPercent(provingPercent)
	}
}

func collectorIsSet() bool { return os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" }

// What a verification takes, in bytes for one of its key, and the most that is made ready for it. Small keys are not worth that.
const (
	heapPerKey = 48
	largestLot = 256 << 20
	smallKey   = 256 << 10
)

// collectLate has memory collected where there is much of it, and not from four megabytes
// on, unless the environment says when: verifying takes some megabytes in all, for a
// moment. What it returns undoes it.
func collectLate(key string) func() {
	if collectorIsSet() {
		return func() {}
	}
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(largestLot)
	if st, err := os.Stat(key); err == nil && st.Size() >= smallKey {
		onHugePages(int(heapPerKey * min(st.Size(), largestLot/2/heapPerKey)))
	}
	return func() {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
	}
}

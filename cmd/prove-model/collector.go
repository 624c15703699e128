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

// collectWhileReading sets the collector for the time before there is an estimate. For a model in
// a small file it does nothing, as reading takes only a few megabytes.
func collectWhileReading(model string) {
	if st, err := os.Stat(model); collectorIsSet() || err != nil || st.Mode().IsRegular() && st.Size() < largeFile {
		return
	}
	debug.SetGCPercent(readingPercent)
}

// collectFor sets the collector for a proof that takes so many bytes.
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

// collectorIsSet says whether the environment sets the collector.
func collectorIsSet() bool { return os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" }

// A verification takes about heapPerKey bytes for each byte of its key. collectLate prepares at most largestLot bytes,
// and none for keys smaller than smallKey, for which it does not pay.
const (
	heapPerKey = 48
	largestLot = 256 << 20
	smallKey   = 256 << 10
)

// collectLate makes the collector wait until there is much garbage, rather than start at
// four megabytes, unless the environment sets it: a verification takes some megabytes in
// all, and for a moment only. The returned function restores the settings.
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

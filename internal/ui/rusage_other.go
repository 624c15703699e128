//go:build !unix

package ui

import "time"

// PeakMemory returns the largest resident size of this process so far, in
// bytes, or 0 where the system does not say.
func PeakMemory() int64 { return 0 }

// ProcessorTime returns the processor time this process has taken, on all
// cores together, or 0 where the system does not say.
func ProcessorTime() time.Duration { return 0 }

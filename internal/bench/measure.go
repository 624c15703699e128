// Package bench measures the proof system: kernels, whole models, and the accuracy of
// quantised models.
package bench

import (
	"slices"
	"time"
)

// best calls f at least three times, and until the calls have taken the time `least`
// together. It returns the shortest time of a call.
func best(least time.Duration, f func()) time.Duration {
	var times []time.Duration
	for total := time.Duration(0); total < least || len(times) < 3; {
		start := time.Now()
		f()
		d := time.Since(start)
		times = append(times, d)
		total += d
	}
	return slices.Min(times)
}

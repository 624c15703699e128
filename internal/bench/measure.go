// Package bench measures the proof system: its kernels, whole models, and the
// accuracy of quantised models.
package bench

import (
	"slices"
	"time"
)

// best returns the shortest time of a call of f, over calls that together take
// at least the given time, and at least three.
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

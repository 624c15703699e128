// Package resident returns how much memory this process uses, and how much it may use, as
// Linux reports it. On other systems nothing is known.
package resident

// Sizes are the bytes of this process that are in memory now: of its own, and of files
// that are mapped.
type Sizes struct{ Anonymous, File int64 }

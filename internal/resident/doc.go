// Package resident says what memory this process has, and what it may have: figures of
// the system, which is Linux. Elsewhere nothing is known.
package resident

// Sizes are the bytes of this process that are in memory now: of its own, and of files
// that are mapped.
type Sizes struct{ Anonymous, File int64 }

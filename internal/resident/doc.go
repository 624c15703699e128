// Package resident returns the memory that this process has, and the memory that it
// may have, as Linux reports them. On other systems nothing is known.
package resident

// Sizes are the bytes of this process that are in memory now: of its own, and of files
// that are mapped.
type Sizes struct{ Anonymous, File int64 }

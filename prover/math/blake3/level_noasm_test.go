//go:build !amd64 || purego

package blake3

import "testing"

// atEachLevel runs a test in plain Go, all there is.
func atEachLevel(t *testing.T, test func(t *testing.T)) { t.Run("off", test) }

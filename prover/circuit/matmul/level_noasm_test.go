//go:build !amd64 || purego

package matmul

import "testing"

// atEachLevel runs a test in plain Go, all there is here.
func atEachLevel(t *testing.T, test func(t *testing.T)) { t.Run("plain", test) }

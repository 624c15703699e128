package matmul

import (
	"testing"

	"github.com/prove-model/prove-model/internal/simd"
)

// atEachLevel runs a test in plain Go and with every instruction set here.
func atEachLevel(t *testing.T, test func(t *testing.T)) {
	best := level
	defer func() { level = best }()
	for l := simd.None; l <= best; l++ {
		level = l
		t.Run(l.String(), test)
	}
}

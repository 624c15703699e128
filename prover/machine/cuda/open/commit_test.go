package open

import (
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// come says which groups have all tensors.
type come map[int]bool

func (c come) Have(_ *backend.Commitment, group int) bool { return c[group] }
func (come) Wait(*backend.Commitment, int)                { panic("nothing is hashed") }
func (come) Find(model.TensorID) (*device.Tensor, error)  { panic("nothing is hashed") }

// TestNextGroup: the group that is hashed next is the first that need not be waited for, if there is one
// and no segment has an order of its own.
func TestNextGroup(t *testing.T) {
	h := &groupHasher{arrivals: come{2: true, 3: true}}
	for _, c := range []struct {
		groups []int
		want   int
	}{{[]int{0, 1, 2, 3}, 2}, {[]int{0, 3, 4}, 1}, {[]int{4, 1}, 0}, {[]int{2}, 0}} {
		if got := h.Next(c.groups); got != c.want {
			t.Errorf("of %v the next one is %d, want %d", c.groups, got, c.want)
		}
	}
	h.segments = []run.Groups{{Of: []int{0, 1, 2, 3}, Again: true}}
	if got := h.Next([]int{0, 1, 2, 3}); got != 0 {
		t.Errorf("of a segment the next one is %d", got)
	}
}

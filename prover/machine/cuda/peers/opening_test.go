package peers

import (
	"testing"

	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// TestPrepare: an opening begins before its claims are known if there is room on all machines beside
// what tasks take, within the bound too, and rows are packed once.
func TestPrepare(t *testing.T) {
	d := devicetest.Open(t)
	o := backend.Opening{Params: &soundness.Params{}, Commitments: []backend.Commitment{{Layout: whir.Layout{RowVars: 5, Groups: []whir.Group{{Rows: 10}}}}}}
	packed := packedMost(&o, 1)
	for name, c := range map[string]struct {
		memory, other, spare int
		beside               int64
		how                  device.Mode
		want                 bool
	}{
		"room":           {1 << 16, 0, 0, 1000, device.Mode{}, true},
		"no room":        {1000 + int(packed) - 1, 0, 0, 1000, device.Mode{}, false},
		"just room":      {1000 + int(packed), 0, 0, 1000, device.Mode{}, true},
		"not on another": {1 << 16, 500, 0, 1000, device.Mode{}, false},
		"bound":          {1 << 16, 0, 1000 + int(packed) - 1, 1000, device.Mode{}, false},
		"within":         {1 << 16, 0, 1000 + int(packed), 1000, device.Mode{}, true},
		"in pieces":      {1 << 16, 0, 0, 1000, device.Mode{Rows: true}, false},
		"segments":       {1 << 16, 0, 0, 1000, device.Mode{Keys: true, Values: true}, false},
	} {
		m := device.New(devicetest.NewStreams(d, c.memory, nil))
		m.SetMode(c.how)
		m.SetSpare(int64(c.spare))
		team := &Group{}
		if c.other > 0 {
			team.Others = []*device.Context{device.New(devicetest.NewStreams(d, c.other, nil))}
		}
		s := run.NewStream(m, &model.Graph{}, nil)
		b := NewLeader(s, team)
		if b.Prepare(t.Context(), o, c.beside); (b.prepared != nil) != c.want {
			t.Errorf("%s: prepared %v", name, b.prepared != nil)
		}
		if spare := m.Spare(); c.spare > 0 && c.want && spare != int64(c.spare)-packed {
			t.Errorf("%s: %d bytes are spare for tasks, of %d, beside %d", name, spare, c.spare, packed)
		}
		b.Close() // the opening has no levels: what it fails with is dropped
		if spare := m.Spare(); spare != int64(c.spare) {
			t.Errorf("%s: %d bytes are spare at the end, of %d", name, spare, c.spare)
		}
		s.Close()
		if n := m.Traffic().Live; n != 0 {
			t.Errorf("%s: %d bytes are left", name, n)
		}
	}
}

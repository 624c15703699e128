package cuda

import (
	"testing"

	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/backend/conformance"
	"github.com/prove-model/prove-model/prover/backend/cpu"
	"github.com/prove-model/prove-model/prover/model"
)

// TestConformance: on the host or on a GPU, as devicetest says; with tensors that
// stay on the device, small tables of an opening too, and with tensors that have no room
// there, where the CPU does what cannot be done in pieces.
func TestConformance(t *testing.T) {
	for name, limit := range map[string]int{"resident": 0, "no room": 4} {
		t.Run(name, func(t *testing.T) {
			dev := devicetest.NewFaulty(devicetest.Open(t), -1)
			machine := NewMachine(dev)
			machine.Limit(limit, defaultPiece>>limit)
			if limit == 0 {
				machine.small = 0
			}
			conformance.Run(t, func(g *model.Graph, w backend.Witness) backend.Backend {
				b := machine.Backend(g, w)
				if limit == 0 {
					return b
				}
				return backend.NewFallback(g, b, cpu.New(g, w), backend.Policy{Warn: func(error) {}})
			})
			machine.Close()
			if n := dev.Live(); n != 0 {
				t.Errorf("%d bytes are left on the device", n)
			}
		})
	}
}

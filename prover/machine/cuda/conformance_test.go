package cuda

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/conformance"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

var full = flag.Bool("full", false, "try all openings with both suites on every machine, not each with one, and a quarter of them where rows are packed in pieces; make full does")

// TestConformance: on the host or on a GPU, as devicetest says; with tensors that
// stay on the device, small tables of an opening too, after three rounds without them, and with tensors that have no room
// there, where the CPU does what cannot be done in pieces; with rows packed in pieces, and cut, too.
func TestConformance(t *testing.T) {
	for name, limit := range map[string]int{"resident": 0, "no room": 4, "resident, in pieces": 0, "no room, in pieces": 4} {
		t.Run(name, func(t *testing.T) {
			dev := devicetest.NewFaulty(devicetest.Open(t), -1)
			machine := NewMachine(dev)
			machine.MaxResident, machine.Piece = limit, device.DefaultPiece>>limit
			var only []string
			if !*full {
				only = conformance.Few()
			}
			if !*full && limit > 0 { // the kinds of opening that are left have tables in pieces all the same
				only = slices.DeleteFunc(only, func(part string) bool { return strings.HasPrefix(part, "other ") })
			}
			if strings.HasSuffix(name, "in pieces") {
				machine.SetMode(device.Mode{Rows: true, Stay: 3 << 11})
				machine.MaxResident, machine.Piece, machine.ShortRow = limit, 1<<11, 5
				only = conformance.Openings(*full, limit > 0)
			}
			if limit == 0 {
				machine.HostPair, machine.ShortRow, machine.LowVars, machine.ThreeRounds = 0, min(machine.ShortRow, 3), 6, -1e12
			}
			conformance.Run(t, func(g *model.Graph, w backend.Witness) backend.Backend {
				b := machine.Backend(g, w)
				if limit == 0 {
					return b
				}
				return backend.NewFallback(g, b, cpu.New(g, w), backend.Policy{Warn: func(error) {}})
			}, only...)
			machine.Close()
			if n := dev.Live(); n != 0 {
				t.Errorf("%d bytes are left on the device", n)
			}
		})
	}
}

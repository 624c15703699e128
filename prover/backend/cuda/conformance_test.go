package cuda

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/backend/conformance"
	"github.com/prove-model/prove-model/prover/backend/cpu"
	"github.com/prove-model/prove-model/prover/model"
)

// TestConformance: on the host or on a GPU, as devicetest says; with tensors that
// stay on the device, small tables of an opening too, and with tensors that have no room
// there, where the CPU does what cannot be done in pieces; with rows packed in pieces, too.
func TestConformance(t *testing.T) {
	for name, limit := range map[string]int{"resident": 0, "no room": 4, "resident, in pieces": 0, "no room, in pieces": 4} {
		t.Run(name, func(t *testing.T) {
			dev := devicetest.NewFaulty(devicetest.Open(t), -1)
			machine := NewMachine(dev)
			machine.Limit(limit, defaultPiece>>limit)
			var only []string
			if strings.HasSuffix(name, "in pieces") {
				machine.PackInPieces(true)
				machine.Limit(limit, 1<<11)
				only = []string{"openings"}
			}
			if limit == 0 {
				machine.small = 0
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

// TestConformanceTeam: the same with several machines, each with its own queue and memory, of
// which one may fail at any moment: its part is done by the first. Where their number is a power of
// two rows move between them, and all have parts of the tables.
func TestConformanceTeam(t *testing.T) {
	d := devicetest.Open(t)
	lost := errors.New("lost")
	for name, c := range map[string]struct {
		counts []int
		fault  func(op string, n int) error
	}{
		"sound": {[]int{2, 3, 4}, nil},
		// Each opening meets the fault at another moment.
		"now and then":            {[]int{2, 4}, func(_ string, n int) error { return when(n%97 == 0, lost) }},
		"now and then, in pieces": {[]int{3}, func(_ string, n int) error { return when(n%97 == 0, lost) }},
		"no memory":               {[]int{2, 3}, func(op string, n int) error { return when(op == "alloc" && n%41 == 0, devicetest.ErrInjected) }},
	} {
		for _, count := range c.counts {
			t.Run(fmt.Sprintf("%s, %d", name, count), func(t *testing.T) { conformsAsTeam(t, d, count, strings.HasSuffix(name, "in pieces"), c.fault, lost) })
		}
	}
}

// conformsAsTeam is TestConformanceTeam of so many machines, the last of which has the fault.
func conformsAsTeam(t *testing.T, d kernels.Device, count int, inPieces bool, fault func(op string, n int) error, lost error) {
	var streams []*devicetest.Streams
	var machines []*Machine
	for i := range count {
		f := fault
		if i < count-1 {
			f = nil
		}
		s := devicetest.NewStreams(d, 1<<30, f)
		m := NewMachine(s)
		m.small = 0
		if inPieces {
			m.PackInPieces(true)
			m.Limit(0, 1<<11)
		}
		streams, machines = append(streams, s), append(machines, m)
	}
	told, memory := 0, fault != nil && errors.Is(fault("alloc", 41), devicetest.ErrInjected)
	conformance.Run(t, func(g *model.Graph, w backend.Witness) backend.Backend {
		return machines[0].BackendWith(&Team{Others: machines[1:], Lost: func(err *MachineError) {
			if told++; err.Machine != machines[count-1] || !errors.Is(err, lost) {
				t.Error(err)
			}
		}}, g, w)
	}, "openings")
	for i, m := range machines {
		m.Close()
		streams[i].Drain()
		if x := m.Traffic(); x.Live != 0 || streams[i].Live() != 0 || x.Uploaded == 0 {
			t.Errorf("machine %d: %+v", i, x)
		}
	}
	if (told > 0) != (fault != nil && !memory) {
		t.Errorf("told of %d machines", told)
	}
	// Of three one fails, and then there are two.
	if copied := machines[1].Traffic().Copied > 0; copied != (!inPieces && (count != 3 || fault != nil)) {
		t.Errorf("rows have moved to the second machine: %v", copied)
	}
}

func when(now bool, err error) error {
	if now {
		return err
	}
	return nil
}

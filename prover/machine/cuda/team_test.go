package cuda

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/machine/cuda/cudatest"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/peers"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// TestTeam: a commitment of many groups has the digests of the CPU's, whatever machines
// share it, of whatever memory and however they fail, and nothing is left on any of them.
func TestTeam(t *testing.T) {
	d := devicetest.Open(t)
	m := cudatest.NewFixed(rand.New(rand.NewPCG(7, 8)), []int{10, 50}, []int{500}, []int{200}, []int{7, 30}, []int{16, 32}, []int{65})
	ids := make([]model.TensorID, len(m.Weights))
	for i := range ids {
		ids[i] = model.TensorID(i)
	}
	c := backend.Commitment{Layout: whir.Layout{RowVars: 2, LogBlowup: 1}}
	const rows = 70 // of a group
	stack := model.NewStack(m.Graph, ids)
	for first := 0; 4*uint64(first) < stack.Size; first += rows {
		c.Groups = append(c.Groups, whir.Group{First: uint64(first), Rows: min(rows, int(stack.Size+3)/4-first)})
		c.Parts = append(c.Parts, backend.Part{Stack: stack, First: first})
	}
	if len(c.Groups) < 7 {
		t.Fatalf("%d groups", len(c.Groups))
	}
	tree, err := cpu.New(m.Graph, m).Commit(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	want, err := tree.Layers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lost := errors.New("lost")
	type test struct {
		name    string
		devices []int                                    // bytes of their memory
		limit   int                                      // of the last machine's weights
		fault   func(op string, n int) error             // of the last device
		alone   bool                                     // the last one
		bad     int                                      // errors that are told
		shared  func(traffic []device.Traffic) (ok bool) // checks what was done where
	}
	const large = 1 << 24
	half := func(x []device.Traffic) bool {
		return x[1].Uploaded+x[1].Copied > 1000 && x[1].Downloaded == 0 && x[0].Copied > 0
	}
	all := func(x []device.Traffic) bool { return x[0].Uploaded+x[0].Copied > 4000 }
	tests := []test{
		{name: "one", devices: []int{large}, shared: all},
		{name: "two", devices: []int{large, large}, shared: half},
		{name: "three", devices: []int{large, large, large}, shared: half},
		{name: "eight", devices: []int{large, large, large, large, large, large, large, large}, shared: func(x []device.Traffic) bool { return x[7].Uploaded > 0 }},
		{name: "small", devices: []int{large, 100, 3000}, shared: all},
		{name: "alone", devices: []int{large, large}, alone: true, shared: func(x []device.Traffic) bool { return x[1].Downloaded > 0 && x[0].Copied == 0 }},
		{name: "no room for weights", devices: []int{large, large}, limit: 4, shared: func(x []device.Traffic) bool { return x[1].Uploaded > 1000 }},
		{name: "cannot be read", devices: []int{large, large}, bad: 1, shared: all, fault: func(op string, _ int) error {
			if op == "read" {
				return lost
			}
			return nil
		}},
	}
	for n := 1; n < 45; n += 9 {
		tests = append(tests, test{name: fmt.Sprintf("lost after %d", n), devices: []int{large, large, large}, bad: 1, shared: all, fault: func(_ string, i int) error {
			if i > n {
				return lost
			}
			return nil
		}}, test{name: fmt.Sprintf("no memory at %d", n), devices: []int{large, large}, shared: all, fault: func(op string, i int) error {
			if i >= n && op == "alloc" {
				return devicetest.ErrInjected
			}
			return nil
		}})
	}
	for _, c2 := range tests {
		var streams []*devicetest.Streams
		var machines []*Machine
		for i, bytes := range c2.devices {
			last := i > 0 && i == len(c2.devices)-1
			s := devicetest.NewStreams(d, bytes, func(op string, n int) error {
				if last && c2.fault != nil {
					return c2.fault(op, n)
				}
				return nil
			})
			m := NewMachine(s)
			if last {
				m.MaxResident, m.Piece = c2.limit, 1<<12
				if c2.alone {
					s.Alone()
				}
			}
			streams, machines = append(streams, s), append(machines, m)
		}
		told := 0
		team := &peers.Group{Others: contexts(machines[1:]), Lost: func(err *device.Error) {
			if told++; err.On != machines[len(machines)-1].Context || !errors.Is(err, lost) {
				t.Errorf("%s: told of %v", c2.name, err)
			}
		}}
		b := machines[0].BackendWith(team, m.Graph, m)
		tree, err := b.Commit(t.Context(), c)
		if err != nil {
			t.Errorf("%s: %v", c2.name, err)
			continue
		}
		got, err := tree.Layers(t.Context())
		if err != nil {
			t.Fatal(c2.name, err)
		}
		for i := range want {
			if !slices.Equal(got[i], want[i]) {
				t.Fatalf("%s: layer %d is another one", c2.name, i)
			}
		}
		machines[0].Sharing = len(machines)
		dry := machines[0].newDry(m.Graph, device.Mode{})
		estimated, err := dry.commit(&c)
		if err != nil {
			t.Fatal(err)
		}
		dry.close()
		var traffic []device.Traffic
		for i, x := range machines {
			traffic = append(traffic, x.Traffic())
			need := estimated + 4<<10 // of machines that fail the first one does the part
			for _, w := range m.Weights {
				need += int64(ints.WidthOf(ints.All(w)) * w.Len())
			}
			if got := traffic[i].Peak; c2.fault == nil && got > need {
				t.Errorf("%s: machine %d took %d bytes, estimated %d", c2.name, i, got, need)
			}
		}
		if told != c2.bad || !c2.shared(traffic) {
			t.Errorf("%s: told of %d machines, did %+v", c2.name, told, traffic)
		}
		b.Close()
		for i, m := range machines {
			m.Close()
			streams[i].Drain()
			if m.Traffic().Live != 0 || streams[i].Live() != 0 {
				t.Errorf("%s: %d bytes are left on device %d", c2.name, streams[i].Live(), i)
			}
		}
	}
	// Nor when it is given up.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a, other := NewMachine(devicetest.NewStreams(d, large, nil)), NewMachine(devicetest.NewStreams(d, large, nil))
	b := a.BackendWith(&peers.Group{Others: []*device.Context{other.Context}}, m.Graph, m)
	if _, err := b.Commit(ctx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	b.Close()
	a.Close()
	other.Close()
	if err := errors.Join(a.Drain(0), other.Drain(0)); err != nil || a.Traffic().Live+other.Traffic().Live != 0 {
		t.Errorf("given up: %+v, %+v, %v", a.Traffic(), other.Traffic(), err)
	}
}

// TestTeamOfGPUs is for two GPUs, which share a commitment of 2^27 values; what that takes
// is in its log.
func TestTeamOfGPUs(t *testing.T) {
	gpus, ok := devicetest.Two(t)
	if !ok {
		t.Skip("PROVE_MODEL_TEST_GPU is not 1, or there is one GPU")
	}
	var shapes [][]int
	ids := make([]model.TensorID, 24)
	for i := range ids {
		ids[i], shapes = model.TensorID(i), append(shapes, []int{1 << 11, 5 << 9})
	}
	m := cudatest.NewFixed(rand.New(rand.NewPCG(7, 9)), shapes...)
	c := backend.SingleStack(hash.Poseidon2, model.NewStack(m.Graph, ids), 16, 2)
	a, b := NewMachine(gpus[0]), NewMachine(gpus[1])
	defer b.Close()
	defer a.Close()
	var roots []hash.Digest
	for _, team := range []*peers.Group{{}, {}, {Others: []*device.Context{b.Context}}, {Others: []*device.Context{b.Context}}} {
		x := a.BackendWith(team, m.Graph, m)
		began := time.Now()
		tree, err := x.Commit(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d GPUs, %d groups: %v; %+v, %+v", 1+len(team.Others), len(c.Groups), time.Since(began), a.Traffic(), b.Traffic())
		roots = append(roots, tree.Root())
		x.Close()
	}
	for _, r := range roots {
		if r != roots[0] {
			t.Error("another root")
		}
	}
	if b.Traffic().Live == 0 {
		t.Error("the other GPU has nothing")
	}
}

func contexts(machines []*Machine) []*device.Context {
	var all []*device.Context
	for _, m := range machines {
		all = append(all, m.Context)
	}
	return all
}

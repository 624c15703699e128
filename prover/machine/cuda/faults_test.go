package cuda

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/conformance"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/machine/cuda/cudatest"
	"github.com/prove-model/prove-model/prover/machine/cuda/open"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// TestAllocationFails lets one allocation after the other fail: the CPU goes on with
// the same numbers, and nothing is left on the device. After a fault a backend is done with
// the device, so that allocations are failing all along, for the next backends of a part to
// meet theirs, at other places.
func TestAllocationFails(t *testing.T) {
	under := devicetest.Open(t)
	for part, c := range map[string]struct{ every, cases, least int }{"sums": {60, 5, 5}, "fractions": {36, 3, 5}, "openings, poseidon2": {140, 4, 8}} {
		failed := 0
		for i := range c.cases {
			first := i * c.every / c.cases
			t.Run(fmt.Sprintf("%s, from allocation %d on", part, first), func(t *testing.T) {
				dev := devicetest.NewFaulty(under, first).Every(c.every)
				machine := NewMachine(dev)
				conformance.Run(t, func(g *model.Graph, w backend.Witness) backend.Backend {
					return backend.NewFallback(g, machine.Backend(g, w), cpu.New(g, w), backend.Policy{Warn: func(err error) {
						if !errors.Is(err, devicetest.ErrInjected) {
							t.Error(err)
						}
					}})
				}, part)
				machine.Close()
				if n := dev.Live(); n != 0 {
					t.Errorf("%d bytes are left on the device", n)
				}
				t.Logf("%d of %d allocations failed", dev.Failed(), dev.Allocs())
				failed += dev.Failed()
			})
		}
		if failed < c.least {
			t.Errorf("%s: %d faults", part, failed)
		}
	}
}

// TestClosed: a tree whose layers were not asked for goes with its backend.
func TestClosed(t *testing.T) {
	g := &model.Graph{Tensors: []model.Tensor{{Shape: []int{100}, Kind: model.Fixed}}}
	w := cudatest.Values{make(ints.Int8s, 100)}
	machine := NewMachine(devicetest.Open(t))
	defer machine.Close()
	b := machine.Backend(g, w)
	tree, err := b.Commit(context.Background(), backend.SingleStack(hash.Blake3, model.NewStack(g, []model.TensorID{0}), 4, 2))
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
	if _, err := tree.Nodes().Path(context.Background(), []uint64{3}); !errors.Is(err, open.ErrClosed) {
		t.Errorf("a path: %v", err)
	}
	if _, err := tree.Layers(context.Background()); !errors.Is(err, open.ErrClosed) {
		t.Errorf("the layers: %v", err)
	}
}

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
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// TestAllocationFails lets one allocation after the other fail: the CPU goes on with
// the same numbers, and nothing is left on the device.
func TestAllocationFails(t *testing.T) {
	under := devicetest.Open(t)
	for part, cases := range map[string]int{"sums": 5, "fractions": 5, "openings": 8} {
		run := func(t *testing.T, dev *devicetest.Faulty, warn func(error)) {
			machine := NewMachine(dev)
			conformance.Run(t, func(g *model.Graph, w backend.Witness) backend.Backend {
				return backend.NewFallback(g, machine.Backend(g, w), cpu.New(g, w), backend.Policy{Warn: warn})
			}, part)
			machine.Close()
			if n := dev.Live(); n != 0 {
				t.Fatalf("%d bytes are left on the device", n)
			}
		}
		count := devicetest.NewFaulty(under, -1)
		run(t, count, func(err error) { t.Error(err) })
		for i := 0; i < count.Allocs(); i += count.Allocs()/cases + 1 {
			t.Run(fmt.Sprintf("%s, allocation %d", part, i), func(t *testing.T) {
				run(t, devicetest.NewFaulty(under, i), func(err error) {
					if !errors.Is(err, devicetest.ErrInjected) {
						t.Error(err)
					}
				})
			})
		}
	}
}

// TestClosed: a tree whose layers were not asked for goes with its backend.
func TestClosed(t *testing.T) {
	g := &model.Graph{Tensors: []model.Tensor{{Shape: []int{100}, Kind: model.Fixed}}}
	w := values{make(ints.Int8s, 100)}
	machine := NewMachine(devicetest.Open(t))
	defer machine.Close()
	b := machine.Backend(g, w)
	tree, err := b.Commit(context.Background(), backend.SingleStack(model.NewStack(g, []model.TensorID{0}), 4, 2))
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
	if _, err := tree.Nodes().Path(context.Background(), []uint64{3}); !errors.Is(err, errClosed) {
		t.Errorf("a path: %v", err)
	}
	if _, err := tree.Layers(context.Background()); !errors.Is(err, errClosed) {
		t.Errorf("the layers: %v", err)
	}
}

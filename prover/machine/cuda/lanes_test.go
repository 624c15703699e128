package cuda

import (
	"slices"
	"sync"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// twoTensors is a graph of an input and a fixed tensor, as a witness too.
type twoTensors struct{ input, fixed ints.Int32s }

func (w twoTensors) Tensor(model.TensorID) []int32  { return w.input }
func (w twoTensors) Fixed(model.TensorID) ints.Ints { return w.fixed }
func (w twoTensors) StepKeys(int) []int32           { return nil }
func (w twoTensors) graph() *model.Graph {
	return &model.Graph{Tensors: []model.Tensor{
		{Name: "input", Kind: model.Input, Shape: []int{8}, Min: -100, Max: 100},
		{Name: "fixed", Kind: model.Fixed, Shape: []int{8}, Min: -100, Max: 100},
	}}
}

// TestLanes: a tensor that one worker has brought is there for another, although nobody
// has waited for the first one's queue, and all is given back.
func TestLanes(t *testing.T) {
	dev := devicetest.NewStreams(devicetest.Open(t), 1<<20, nil)
	w := twoTensors{ints.Int32s{1, -2, 3, -4, 5, -6, 7, -8}, ints.Int32s{9, 8, 7, 6, 5, 4, 3, 2}}
	m := NewMachine(dev)
	m.Streams = 3
	b := m.Backend(w.graph(), w)
	for id := range model.TensorID(2) {
		r := []backend.Restriction{{Tensor: id, Bound: make([][]field.QM31, 1), Keep: []int{0}}}
		want, err := cpu.New(w.graph(), w).Restrict(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		var workers []backend.Backend
		for n := range 3 {
			l, err := b.Worker(n)
			if err != nil {
				t.Fatal(err)
			}
			workers = append(workers, l)
		}
		if _, err := workers[1].Restrict(t.Context(), r); err != nil { // and not waited for
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for _, n := range []int{2, 0} {
			wg.Go(func() {
				x, err := workers[n].Restrict(t.Context(), r)
				if err != nil {
					t.Error(err)
					return
				}
				got, err := workers[n].Download(t.Context(), x[0])
				if err != nil || !slices.Equal(got, want[0].([]field.QM31)) {
					t.Errorf("tensor %d on worker %d: %v, %v, want %v", id, n, got, err, want)
				}
			})
		}
		wg.Wait()
		for n, l := range workers {
			l.Close()
			if err := m.Drain(n); err != nil {
				t.Error(err)
			}
		}
	}
	descriptions := 2 * 3 * int64((&kernels.Restriction{}).Scratch())
	if up := m.Traffic().Uploaded - descriptions; up != 16 {
		t.Errorf("%d bytes were uploaded beside descriptions of restrictions, want 8 of each tensor", up)
	}
	b.Close()
	m.Close()
	if err := m.Drain(0); err != nil || dev.Live() != 0 || m.Traffic().Live != 0 {
		t.Errorf("%d bytes are left, %v", dev.Live(), err)
	}
}

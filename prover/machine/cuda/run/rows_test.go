package run

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// looksBack is a circuit of three rows: y(t) = 5·x(t)·Σ_s≤t x(s) + 1, for products of 0 to 3.
func looksBack(t *testing.T) *forward.RowCircuit {
	t.Helper()
	mask := []int32{1, 0, 0, 1, 1, 0, 1, 1, 1}
	g := &model.Graph{
		Tensors: []model.Tensor{
			{Name: "x", Shape: []int{3}, Kind: model.Input, Max: 9},
			{Name: "mask", Shape: []int{3, 3}, Kind: model.Fixed, Max: 1},
			{Name: "copy", Shape: []int{3}, Kind: model.Witness, Max: 9},
			{Name: "scores", Shape: []int{3, 3}, Kind: model.Witness, Max: 9},
			{Name: "y", Shape: []int{3}, Kind: model.Witness, Min: -20, Max: 20},
		},
		Tables: []model.Table{{Name: "to 3", Kind: model.TablePiecewise, Bits: 2, Pieces: []model.Piece{{End: 4, Slope: 5, Offset: 1}}, Values: model.None}},
		Steps: []model.Step{
			{Kind: model.StepExact, Name: "copy", Shape: []int{3}, Acc: model.Acc{Linear: []model.Linear{{Coef: 1}}}, Out: 2, Lo: model.None, Den: model.None, Table: model.None},
			{Kind: model.StepExact, Name: "scores", Shape: []int{3, 3}, Acc: model.Acc{Products: []model.Product{{Coef: 1, A: 2, B: 1, LabelsA: []int{0}, LabelsB: []int{0, 1}}}},
				Out: 3, Lo: model.None, Den: model.None, Table: model.None},
			{Kind: model.StepLookup, Name: "sum", Shape: []int{3}, Acc: model.Acc{Products: []model.Product{{Coef: 1, A: 3, B: 2, LabelsA: []int{0, 1}, LabelsB: []int{1}}}},
				Out: 4, Lo: model.None, Den: model.None},
		},
		Inputs: []model.TensorID{0}, Outputs: []model.TensorID{4}, Chunks: 1,
	}
	c, err := forward.NewRowCircuit(g, model.Weights{nil, ints.Of(mask), nil, nil, nil}, []int{0})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Caches) != 1 || c.Caches[0].Of != 2 || c.Caches[0].Step != 0 {
		t.Fatalf("caches %+v", c.Caches)
	}
	return c
}

// Rows see those before, which stay on the device; a number out of range is noticed in its row, and memory goes back.
func TestRows(t *testing.T) {
	d := devicetest.NewFaulty(devicetest.Open(t), -1)
	m := device.New(d)
	r, err := NewRows(m, looksBack(t), [][]int32{{0, 0, 0}})
	if err != nil {
		t.Fatal(err)
	}
	c := r.circuit
	for _, x := range []struct {
		at   int
		x    int32
		want []int32 // nil: out of range
	}{{0, 1, []int32{6}}, {1, 1, []int32{11}}, {2, 1, []int32{16}}, {1, 0, []int32{1}}, {2, 1, []int32{11}}, {2, 9, nil}} {
		if err := r.Set(t.Context(), c.Values([]int{x.at}, [][]int32{{x.x}})); err != nil {
			t.Fatal(err)
		}
		got, err := r.Output(0)
		if !slices.Equal(got, x.want) || (x.want == nil) != errors.Is(err, ErrRange) {
			t.Errorf("row %d of %d: %v, %v", x.at, x.x, got, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Set(ctx, c.Values([]int{0}, [][]int32{{1}})); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	m.Close() // closes what has memory there
	if err := r.Set(t.Context(), c.Values([]int{0}, [][]int32{{1}})); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if _, err := r.Output(0); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	r.Close()
	if n := d.Live(); n != 0 {
		t.Errorf("%d bytes are left", n)
	}
}

// What memory there is for says so.
func TestRowsWithoutMemory(t *testing.T) {
	d := devicetest.Open(t)
	sound := devicetest.NewFaulty(d, -1)
	r, err := NewRows(device.New(sound), looksBack(t), [][]int32{{0, 0, 0}})
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	failed := 0
	for i := range sound.Allocs() {
		short := devicetest.NewFaulty(d, i).Every(1)
		m := device.New(short)
		r, err := NewRows(m, looksBack(t), [][]int32{{0, 0, 0}})
		if err == nil {
			r.Close()
		} else if failed++; !errors.Is(err, kernels.ErrMemory) {
			t.Errorf("allocation %d: %v", i, err)
		}
		m.Close()
		if n := short.Live(); n != 0 {
			t.Errorf("allocation %d: %d bytes are left", i, n)
		}
	}
	if failed == 0 {
		t.Error("nothing failed")
	}
}

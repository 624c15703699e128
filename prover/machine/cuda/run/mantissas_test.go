package run

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// scarce is a device that says how much is free, and has no memory for just so many bytes at once.
type scarce struct {
	kernels.Device
	free    int64
	without int
}

func (s *scarce) Available() (free, total int64, err error) { return s.free, s.free, nil }

func (s *scarce) Alloc(bytes int) (kernels.Ptr, error) {
	if bytes == s.without {
		return 0, kernels.ErrMemory
	}
	return s.Device.Alloc(bytes)
}

// Rows of products with matrices have the same integers with copies of a byte an entry and without. There is a copy of a matrix whose rows
// are bytes times powers of two, and of no other one, unless it takes more than half of what is free, or memory is short.
func TestMantissas(t *testing.T) {
	const rows, n = 2, 128
	size := slotSize(n, n) + slotSize(n, 1)
	rng := rand.New(rand.NewPCG(1, 2))
	var w [2][]int32
	for i := range w {
		w[i] = make([]int32, n*n)
		for j := range w[i] {
			w[i][j] = int32(rng.IntN(256)-128) << (j / n % 7)
		}
	}
	w[0][0], w[1][0] = 128<<6, 200<<6|1
	w[0][n-1] = -128
	for j := range n { // the first row of the first matrix: bytes times 2^6
		w[0][j] = int32(rng.IntN(256)-128) << 6
	}
	g := &model.Graph{
		Tensors: []model.Tensor{
			{Name: "x", Shape: []int{rows, n}, Kind: model.Input, Min: -99, Max: 99},
			{Name: "bytes", Shape: []int{n, n}, Kind: model.Fixed, Min: -1 << 15, Max: 1<<15 - 1},
			{Name: "others", Shape: []int{n, n}, Kind: model.Fixed, Min: -1 << 15, Max: 1<<15 - 1},
			{Name: "y", Shape: []int{rows, n}, Kind: model.Witness, Min: -1 << 29, Max: 1 << 29},
			{Name: "z", Shape: []int{rows, n}, Kind: model.Witness, Min: -1 << 29, Max: 1 << 29},
		},
		Inputs: []model.TensorID{0}, Outputs: []model.TensorID{3, 4}, Chunks: 1,
	}
	for i := range w {
		g.Steps = append(g.Steps, model.Step{Kind: model.StepExact, Name: g.Tensors[3+i].Name, Shape: []int{rows, n}, Out: model.TensorID(3 + i),
			Acc: model.Acc{Products: []model.Product{{Coef: 1, A: 0, B: model.TensorID(1 + i), LabelsA: []int{0, 2}, LabelsB: []int{1, 2}}}},
			Lo:  model.None, Den: model.None, Table: model.None})
	}
	c, err := forward.NewRowCircuit(g, model.Weights{nil, ints.Of(w[0]), ints.Of(w[1]), nil, nil}, []int{0})
	if err != nil {
		t.Fatal(err)
	}
	x := make([]int32, n)
	for j := range x {
		x[j] = int32(rng.IntN(199) - 99)
	}
	for _, s := range []struct {
		free    int
		without int
		copies  bool
	}{{1 << 20, 0, true}, {2 * size, 0, true}, {2*size - 1, 0, false}, {1 << 20, size, false}} {
		d := devicetest.NewFaulty(devicetest.Open(t), -1)
		m := device.New(&scarce{d, int64(s.free), s.without})
		r, err := NewRows(m, c, nil)
		if err != nil {
			t.Fatal(err)
		}
		if live, copies := r.memory.Live(), int64(size); live >= copies != s.copies || live >= 2*copies {
			t.Errorf("%d bytes free, none for %d: %d bytes, and copies of %d", s.free, s.without, live, copies)
		}
		if err := r.Set(t.Context(), c.Values([]int{0}, [][]int32{x})); err != nil {
			t.Fatal(err)
		}
		for i := range w {
			want := make([]int32, n)
			for j := range want {
				for k := range n {
					want[j] += w[i][j*n+k] * x[k]
				}
			}
			if got, err := r.Output(i); err != nil || !slices.Equal(got, want) {
				t.Errorf("%d bytes free: product %d: %v, %v; want %v", s.free, i, got[:min(4, len(got))], err, want[:4])
			}
		}
		r.Close()
		m.Close()
		if n := d.Live(); n != 0 {
			t.Errorf("%d bytes are left", n)
		}
	}
}

// A matrix that one product takes as rows of k entries, and another one as longer rows, is copied for each of them: a shift is of a row.
func TestMantissasOfTwoShapes(t *testing.T) {
	const rows, outer, inner, k = 2, 8, 16, 128
	rng := rand.New(rand.NewPCG(3, 4))
	w := make(ints.Int16s, outer*inner*k)
	for j := range w {
		if w[j] = int16(2*rng.IntN(40) - 39); j/k%2 == 0 { // every second row of k entries is bytes times 2^6
			w[j] = 64 * int16(rng.IntN(2))
		}
	}
	g := &model.Graph{
		Tensors: []model.Tensor{
			{Name: "x", Shape: []int{rows, k}, Kind: model.Input, Min: -99, Max: 99},
			{Name: "z", Shape: []int{rows, inner, k}, Kind: model.Input, Min: -99, Max: 99},
			{Name: "w", Shape: []int{outer, inner, k}, Kind: model.Fixed, Min: -1 << 15, Max: 1<<15 - 1},
			{Name: "short", Shape: []int{rows, outer, inner}, Kind: model.Witness, Min: -1 << 29, Max: 1 << 29},
			{Name: "long", Shape: []int{rows, outer}, Kind: model.Witness, Min: -1 << 29, Max: 1 << 29},
		},
		Inputs: []model.TensorID{0, 1}, Outputs: []model.TensorID{3, 4}, Chunks: 1,
	}
	for i, p := range []model.Product{
		{Coef: 1, A: 0, B: 2, LabelsA: []int{0, 3}, LabelsB: []int{1, 2, 3}},
		{Coef: 1, A: 1, B: 2, LabelsA: []int{0, 2, 3}, LabelsB: []int{1, 2, 3}},
	} {
		y := &g.Tensors[3+i]
		g.Steps = append(g.Steps, model.Step{Kind: model.StepExact, Name: y.Name, Shape: y.Shape, Out: model.TensorID(3 + i),
			Acc: model.Acc{Products: []model.Product{p}}, Lo: model.None, Den: model.None, Table: model.None})
	}
	c, err := forward.NewRowCircuit(g, model.Weights{nil, nil, w, nil, nil}, []int{0, 0})
	if err != nil {
		t.Fatal(err)
	}
	z := make([]int32, inner*k)
	for j := range z {
		z[j] = int32(rng.IntN(199) - 99)
	}
	m := device.New(devicetest.Open(t))
	defer m.Close()
	r, err := NewRows(m, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Set(t.Context(), c.Values([]int{0, 0}, [][]int32{z[:k], z})); err != nil {
		t.Fatal(err)
	}
	for i, by := range [][]int32{z[:k], z} {
		want := make([]int32, len(w)/len(by))
		for j, v := range w {
			want[j/len(by)] += int32(v) * by[j%len(by)]
		}
		if got, err := r.Output(i); err != nil || !slices.Equal(got, want) {
			t.Errorf("product %d: %v, %v; want %v", i, got[:min(8, len(got))], err, want[:8])
		}
	}
}

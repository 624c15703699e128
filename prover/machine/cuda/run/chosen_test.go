package run

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// Products with few matrices of many are on a device what they are on the processor, of rows that share what they read and of
// others; laid out in a way that the kernel does not know, they are the processor's.
func TestChosen(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	const rows, slots, count, inner, width = 5, 2, 6, 9, 33
	values := func(n, most int) []int32 {
		v := make([]int32, n)
		for i := range v {
			v[i] = int32(rng.IntN(2*most+1) - most)
		}
		return v
	}
	by := make([]int32, rows*slots*count)
	for i := range rows * slots {
		by[i*count+rng.IntN(count)] = 1
	}
	none := func(s model.Step) model.Step { s.Lo, s.Table, s.Den = model.None, model.None, model.None; return s }
	g := &model.Graph{
		Tensors: []model.Tensor{
			{Name: "by", Shape: []int{rows, slots, count}, Kind: model.Input, Max: 1},
			{Name: "x", Shape: []int{rows, width}, Kind: model.Input, Min: -99, Max: 99},
			{Name: "up", Shape: []int{count, inner, width}, Kind: model.Fixed, Min: -99, Max: 99},
			{Name: "down", Shape: []int{count, width, inner}, Kind: model.Fixed, Min: -9, Max: 9},
			{Name: "x, chosen", Shape: []int{rows, slots, count, width}, Kind: model.Virtual, Min: -99, Max: 99,
				Product: &model.Product{Coef: 1, A: 0, B: 1, LabelsA: []int{0, 1, 2}, LabelsB: []int{0, 3}}},
			{Name: "within", Shape: []int{rows, slots, inner}, Kind: model.Witness},
			{Name: "within, chosen", Shape: []int{rows, slots, count, inner}, Kind: model.Virtual,
				Product: &model.Product{Coef: 1, A: 0, B: 5, LabelsA: []int{0, 1, 2}, LabelsB: []int{0, 1, 3}}},
			{Name: "y", Shape: []int{rows, slots, width}, Kind: model.Witness},
		},
		Steps: []model.Step{
			none(model.Step{Kind: model.StepExact, Name: "up", Shape: []int{rows, slots, inner}, Out: 5, Acc: model.Acc{Const: 3, Products: []model.Product{
				{Coef: 1, A: 4, B: 2, LabelsA: []int{0, 1, 3, 4}, LabelsB: []int{3, 2, 4}}}}}),
			none(model.Step{Kind: model.StepExact, Name: "down", Shape: []int{rows, slots, width}, Out: 7, Acc: model.Acc{Products: []model.Product{
				{Coef: -2, A: 3, B: 6, LabelsA: []int{3, 2, 4}, LabelsB: []int{0, 1, 3, 4}}}}}),
		},
		Inputs: []model.TensorID{0, 1}, Outputs: []model.TensorID{7}, Chunks: 1,
	}
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	weights := model.Weights{2: ints.Of(values(count*inner*width, 99)), 3: ints.Of(values(count*width*inner, 9)), 7: nil}
	inputs := [][]int32{by, values(rows*width, 99)}
	for _, taken := range []bool{true, false} {
		if !taken { // experts are the first axis of what chooses
			g.Tensors[4].Shape, g.Tensors[4].Product.LabelsA, g.Tensors[4].Product.LabelsB = []int{count, rows, slots, width}, []int{1, 2, 0}, []int{1, 3}
			g.Steps[0].Acc.Products[0].LabelsA = []int{3, 0, 1, 4}
		}
		want, err := forward.Run(context.Background(), g, weights, inputs)
		if err != nil {
			t.Fatal(err)
		}
		m := device.New(devicetest.Open(t))
		got, err := forward.RunOn(context.Background(), &Forward{Contexts: []*device.Context{m}}, g, weights, inputs)
		if err != nil {
			t.Fatal(err)
		}
		if _, on := got.Kept().(*Run); on != taken {
			t.Errorf("on the device: %t, want %t", on, taken)
		}
		for _, id := range []model.TensorID{5, 7} {
			if !slices.Equal(got.Tensor(id), want.Tensor(id)) {
				t.Errorf("%s is another on the device", g.Tensors[id].Name)
			}
		}
		got.Close()
		m.Close()
	}
}

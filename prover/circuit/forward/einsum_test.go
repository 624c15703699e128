package forward

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// naive computes the einsum entry by entry from its definition.
func naive(out []int, coef int64, a, b operand) []int64 {
	acc := make([]int64, model.Size(out))
	dims := map[int]int{}
	for l, d := range out {
		dims[l] = d
	}
	a, b = a.laidOut(), b.laidOut()
	for _, x := range []operand{a, b} {
		for i, l := range x.labels {
			dims[l] = len(x.axes[i])
		}
	}
	var labels []int
	for l := range dims {
		labels = append(labels, l)
	}
	slices.Sort(labels)
	index := map[int]int{}
	at := func(x operand) int {
		o := 0
		for i, l := range x.labels {
			o += x.axes[i][index[l]]
		}
		return o
	}
	va, vb := ints.All(a.v), ints.All(b.v)
	result := dense(nil, out, make([]int, len(out))).laidOut()
	for i := range out {
		result.labels[i] = i
	}
	var rec func(k int)
	rec = func(k int) {
		if k == len(labels) {
			acc[at(result)] += coef * int64(va[at(a)]) * int64(vb[at(b)])
			return
		}
		for i := range dims[labels[k]] {
			index[labels[k]] = i
			rec(k + 1)
		}
	}
	rec(0)
	return acc
}

func drawOperand(t *rapid.T, labels []int, dims map[int]int, name string) operand {
	var shape []int
	for _, l := range labels {
		shape = append(shape, dims[l])
	}
	// A view may begin anywhere in what it reads.
	first := rapid.IntRange(0, min(len(shape), 1)*3).Draw(t, "first")
	n := first + model.Size(shape)
	values := rapid.SliceOfN(rapid.Int32Range(-100, 100), n, n).Draw(t, name)
	v, _ := ints.Make(n, rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "width"), func(dst []int32, from int) { copy(dst, values[from:]) })
	o := dense(v, shape, labels).laidOut()
	for i := 0; first > 0 && i < len(o.axes[0]); i++ {
		o.axes[0][i] += first
	}
	return o
}

func TestEinsum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(0, 4).Draw(t, "rank")
		contracted := rapid.IntRange(0, 2).Draw(t, "contracted")
		dims := map[int]int{}
		var out, la, lb []int
		for l := range rank {
			d := rapid.IntRange(1, 4).Draw(t, "dim")
			dims[l] = d
			out = append(out, d)
			in := rapid.IntRange(0, 3).Draw(t, "in") // neither, A, B, both
			if in&1 != 0 {
				la = append(la, l)
			}
			if in&2 != 0 {
				lb = append(lb, l)
			}
		}
		for l := rank; l < rank+contracted; l++ {
			dims[l] = rapid.IntRange(1, 6).Draw(t, "k")
			la, lb = append(la, l), append(lb, l)
		}
		la, lb = rapid.Permutation(la).Draw(t, "la"), rapid.Permutation(lb).Draw(t, "lb")
		a, b := drawOperand(t, la, dims, "a"), drawOperand(t, lb, dims, "b")
		coef := rapid.Int64Range(-3, 3).Draw(t, "coef")
		acc := make([]int64, model.Size(out))
		einsum(acc, out, coef, a, b)
		if want := naive(out, coef, a, b); !slices.Equal(acc, want) {
			t.Fatalf("out %v, A %v, B %v: got %v, want %v", out, la, lb, acc, want)
		}
	})
}

// The windows of a convolution give the same as when they are written out.
func TestProductOfWindows(t *testing.T) {
	const x, w, win, y = 0, 1, 2, 3
	in, windows := []int{3, 5, 6}, []int{3, 3, 3, 5, 6}
	window := func(tap, at, axis int) model.Group {
		return model.Group{Out: []int{tap, at}, In: []int{axis}, Base: -1, Strides: []int{1, 1}}
	}
	g := &model.Graph{
		Tensors: []model.Tensor{
			x: {Name: "x", Shape: in, Min: -100, Max: 100},
			w: {Name: "w", Shape: []int{4, 3, 3, 3}, Kind: model.Fixed, Min: -9, Max: 9},
			win: {Name: "windows", Shape: windows, Kind: model.Virtual, Min: -100, Max: 100, Def: []model.Linear{{Coef: 1, Src: x, View: &model.View{
				Groups: []model.Group{{Out: []int{0}, In: []int{0}, Strides: []int{1}}, window(1, 3, 1), window(2, 4, 2)}}}}},
			y: {Name: "y", Shape: []int{4, 5, 6}, Kind: model.Witness, Min: -1 << 20, Max: 1 << 20},
		},
		Steps: []model.Step{{Kind: model.StepExact, Name: "conv", Shape: []int{4, 5, 6}, Out: y, Lo: model.None, Acc: model.Acc{Products: []model.Product{
			{Coef: 1, A: w, B: win, LabelsA: []int{0, 3, 4, 5}, LabelsB: []int{3, 4, 5, 1, 2}}}}}},
		Inputs: []model.TensorID{x}, Outputs: []model.TensorID{y},
	}
	g.Finish(0)
	weights, input := make([]int32, 108), make([]int32, 90)
	for i := range weights {
		weights[i] = int32(i%19 - 9)
	}
	for i := range input {
		input[i] = int32(i*37%201 - 100)
	}
	wit, err := Run(context.Background(), g, model.Weights{w: ints.Of(weights)}, [][]int32{input})
	if err != nil {
		t.Fatal(err)
	}
	want := naive([]int{4, 5, 6}, 1, dense(ints.Int32s(weights), []int{4, 3, 3, 3}, []int{0, 3, 4, 5}), dense(ints.Int32s(wit.Tensor(win)), windows, []int{3, 4, 5, 1, 2}))
	for i, v := range wit.Values[y] {
		if int64(v) != want[i] {
			t.Fatalf("entry %d is %d, want %d", i, v, want[i])
		}
	}
}

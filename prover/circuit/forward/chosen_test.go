package forward

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// A product with an operand that is itself a product is the product of the tensor that this defines, whatever axes the
// three have, in whatever order, and however many entries of what chooses are not 0.
func TestChosen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dims := map[int]int{}
		var out []int
		for l := range rapid.IntRange(0, 3).Draw(t, "axes") {
			dims[l] = rapid.IntRange(1, 4).Draw(t, "dimension")
			out = append(out, dims[l])
		}
		var by, x, w []int // labels of the step
		for l := range out {
			// In by, x and w, as bits; not in none.
			in := rapid.IntRange(1, 7).Draw(t, "in")
			for bit, list := range []*[]int{&by, &x, &w} {
				if in>>bit&1 == 1 {
					*list = append(*list, l)
				}
			}
		}
		for l := range rapid.IntRange(0, 3).Draw(t, "sums") { // in by or x or both, and in w
			l += len(out)
			dims[l] = rapid.IntRange(1, 5).Draw(t, "dimension")
			in := rapid.IntRange(1, 3).Draw(t, "in")
			if in&1 == 1 {
				by = append(by, l)
			}
			if in&2 == 2 {
				x = append(x, l)
			}
			w = append(w, l)
		}
		by, x, w = rapid.Permutation(by).Draw(t, "by"), rapid.Permutation(x).Draw(t, "x"), rapid.Permutation(w).Draw(t, "w")
		union := slices.Concat(by, x)
		slices.Sort(union)
		union = rapid.Permutation(slices.Compact(union)).Draw(t, "z") // labels of z's axes
		shape := func(labels []int) []int {
			s := make([]int, len(labels))
			for i, l := range labels {
				s[i] = dims[l]
			}
			return s
		}
		axes := func(labels []int) []int {
			s := make([]int, len(labels))
			for i, l := range labels {
				s[i] = slices.Index(union, l)
			}
			return s
		}
		values := func(labels []int, some bool) []int32 {
			v := make([]int32, model.Size(shape(labels)))
			for i := range v {
				if !some || rapid.IntRange(0, 3).Draw(t, "chosen") == 0 {
					v[i] = int32(rapid.IntRange(-3, 3).Draw(t, "value"))
				}
			}
			return v
		}
		vby, vx, vw := values(by, true), values(x, false), values(w, false)
		g := &model.Graph{
			Tensors: []model.Tensor{
				{Shape: shape(by), Kind: model.Input, Min: -3, Max: 3}, {Shape: shape(x), Kind: model.Input, Min: -3, Max: 3},
				{Shape: shape(w), Kind: model.Fixed, Min: -3, Max: 3},
				{Shape: shape(union), Kind: model.Virtual, Product: &model.Product{Coef: 1, A: 0, B: 1, LabelsA: axes(by), LabelsB: axes(x)}},
				{Shape: out, Kind: model.Witness, Min: -1 << 20, Max: 1 << 20},
			},
			Inputs: []model.TensorID{0, 1}, Outputs: []model.TensorID{4}, Chunks: 1,
		}
		p := model.Product{Coef: 2, A: 3, B: 2, LabelsA: union, LabelsB: w}
		if rapid.Bool().Draw(t, "exchanged") {
			p.A, p.B, p.LabelsA, p.LabelsB = p.B, p.A, p.LabelsB, p.LabelsA
		}
		g.Steps = []model.Step{{Kind: model.StepExact, Shape: out, Out: 4, Lo: model.None, Table: model.None, Den: model.None, Acc: model.Acc{Products: []model.Product{p}}}}
		if err := g.Validate(); err != nil {
			t.Fatal(err)
		}
		weights := model.Weights{2: ints.Of(vw), 4: nil}
		run, err := Run(context.Background(), g, weights, [][]int32{vby, vx})
		if err != nil {
			t.Fatal(err)
		}
		want := naive(out, 2, dense(ints.Int32s(run.Tensor(3)), shape(union), union), dense(ints.Of(vw), shape(w), w))
		for i, y := range run.Values[4] {
			if int64(y) != want[i] {
				t.Fatalf("entry %d is %d, want %d", i, y, want[i])
			}
		}
	})
}

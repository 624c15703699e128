package cuda

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/forward"
	"github.com/prove-model/prove-model/prover/ints"
	"github.com/prove-model/prove-model/prover/model"
	"pgregory.net/rapid"
)

// graphOf is a graph of one lookup step on products of an input with a fixed
// tensor each, drawn at random.
func graphOf(t *rapid.T, rng *rand.Rand) (*model.Graph, model.Weights, [][]int32) {
	g := &model.Graph{Chunks: 1}
	var w model.Weights
	var inputs [][]int32
	var out []int
	for range rapid.IntRange(0, 3).Draw(t, "rank") {
		out = append(out, rapid.IntRange(1, 7).Draw(t, "dim"))
	}
	tensor := func(kind model.Kind, dims map[int]int, labels []int) model.TensorID {
		x := model.Tensor{Kind: kind, Min: -1 << 15, Max: 1<<15 - 1}
		for _, l := range labels {
			x.Shape = append(x.Shape, dims[l])
		}
		bits := rapid.SampledFrom([]int{7, 12}).Draw(t, "bits")
		v := make([]int32, model.Size(x.Shape))
		for i := range v {
			v[i] = rng.Int32N(2<<bits) - 1<<bits
		}
		id := model.TensorID(len(g.Tensors))
		g.Tensors = append(g.Tensors, x)
		if kind == model.Input {
			g.Inputs, inputs, w = append(g.Inputs, id), append(inputs, v), append(w, nil)
		} else {
			w = append(w, ints.Of(v))
		}
		return id
	}
	s := model.Step{Kind: model.StepLookup, Name: "step", Shape: out, Shift: rapid.IntRange(8, 20).Draw(t, "shift"),
		Acc: model.Acc{Const: rapid.Int64Range(-1000, 1000).Draw(t, "const")}}
	for range rapid.IntRange(0, 2).Draw(t, "products") {
		dims := map[int]int{}
		var la, lb []int
		broadcast := rapid.IntRange(0, 9).Draw(t, "broadcast") == 0
		for l, d := range out {
			dims[l] = d
			in := rapid.IntRange(1, 3).Draw(t, "in") // A, B, both
			if broadcast {
				in = 0
			}
			if in&1 != 0 {
				la = append(la, l)
			}
			if in&2 != 0 {
				lb = append(lb, l)
			}
		}
		for l := range rapid.IntRange(0, 2).Draw(t, "contracted") {
			l += len(out)
			dims[l] = rapid.IntRange(1, 20).Draw(t, "k")
			la, lb = append(la, l), append(lb, l)
		}
		if rapid.Bool().Draw(t, "permuted") {
			la, lb = rapid.Permutation(la).Draw(t, "la"), rapid.Permutation(lb).Draw(t, "lb")
		}
		kinds := []model.Kind{model.Input, model.Fixed}
		if rapid.Bool().Draw(t, "swapped") {
			slices.Reverse(kinds)
		}
		s.Acc.Products = append(s.Acc.Products, model.Product{Coef: rapid.Int64Range(-2, 2).Draw(t, "coef"),
			A: tensor(kinds[0], dims, la), B: tensor(kinds[1], dims, lb), LabelsA: la, LabelsB: lb})
	}
	// Most runs stay within the table, not all.
	table := model.Table{Name: "t", Bits: 14, Min: -1 << 13, Kind: rapid.SampledFrom([]model.TableKind{
		model.TableRange, model.TablePiecewise, model.TableFunc}).Draw(t, "kind")}
	witness := func(shape []int) model.TensorID {
		g.Tensors, w = append(g.Tensors, model.Tensor{Kind: model.Witness, Shape: shape}), append(w, nil)
		return model.TensorID(len(g.Tensors) - 1)
	}
	s.Lo, s.Out = witness(out), model.None
	if table.Kind != model.TableRange {
		s.Out = witness(out)
	}
	switch table.Kind {
	case model.TablePiecewise:
		table.Pieces = []model.Piece{{End: 1 << 12, Offset: -5}, {End: 1 << 13, Slope: -3, Offset: 1}, {End: 1 << 14, Slope: 1}}
	case model.TableFunc:
		table.Values = tensor(model.Fixed, map[int]int{0: 1 << 14}, []int{0})
	}
	g.Tables = []model.Table{table}
	g.Mults = []model.Mult{{Tensor: witness([]int{1 << 14})}}
	g.Steps = []model.Step{s}
	return g, w, inputs
}

// TestForward compares a run on the device with one on the CPU, errors too.
func TestForward(t *testing.T) {
	d := devicetest.NewFaulty(devicetest.Open(t), -1)
	m := NewMachine(d)
	defer m.Close()
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		g, w, inputs := graphOf(t, rng)
		want, wantErr := forward.Run(context.Background(), g, w, inputs)
		counted := &counter{Machine: m}
		got, err := forward.RunOn(context.Background(), counted, g, w, inputs)
		if wantErr != nil || err != nil {
			if wantErr == nil || err == nil || err.Error() != wantErr.Error() {
				t.Fatalf("errors %v and %v", err, wantErr)
			}
			return
		}
		taken += counted.done
		for i := range want.Values {
			if !slices.Equal(got.Values[i], want.Values[i]) {
				t.Fatalf("tensor %d: %v, want %v", i, got.Values[i], want.Values[i])
			}
		}
		if !slices.Equal(got.Keys[0], want.Keys[0]) {
			t.Fatal("keys differ")
		}
	})
	if taken == 0 {
		t.Error("the device took no step")
	}
	m.Close()
	if d.Live() != 0 {
		t.Errorf("%d bytes are left on the device", d.Live())
	}
}

// counter counts the steps that a machine did.
type counter struct {
	*Machine
	done int
}

func (c *counter) LookUp(t *forward.Task) (bool, error) {
	done, err := c.Machine.LookUp(t)
	if done {
		c.done++
	}
	return done, err
}

// TestMatMul: what the products of networks look like lies as the kernels take
// it, without copies.
func TestMatMul(t *testing.T) {
	g := &model.Graph{Tensors: []model.Tensor{{Shape: []int{1, 64}}, {Shape: []int{10, 64}}, {Shape: []int{64, 10}}, {Shape: []int{8, 3, 3, 3}}, {Shape: []int{3, 3, 3, 5, 6}},
		{Shape: []int{7, 4, 16}}, {Shape: []int{9, 4, 16}}}}
	for _, c := range []struct {
		name string
		p    model.Product
		out  []int
		want kernels.MatMul
	}{
		{"Gemm, transposed", model.Product{A: 0, B: 1, LabelsA: []int{0, 2}, LabelsB: []int{1, 2}}, []int{1, 10},
			kernels.MatMul{M: 1, N: 10, K: 64, A: kernels.Matrix{Column: 1}, B: kernels.Matrix{Row: 64, Column: 1}, OutColumn: 1}},
		{"MatMul", model.Product{A: 0, B: 2, LabelsA: []int{0, 2}, LabelsB: []int{2, 1}}, []int{1, 10},
			kernels.MatMul{M: 1, N: 10, K: 64, A: kernels.Matrix{Column: 1}, B: kernels.Matrix{Row: 1, Column: 10}, OutColumn: 1}},
		{"Conv", model.Product{A: 3, B: 4, LabelsA: []int{0, 10, 11, 12}, LabelsB: []int{10, 11, 12, 1, 2}}, []int{8, 5, 6},
			kernels.MatMul{M: 8, N: 30, K: 27, A: kernels.Matrix{Row: 27, Column: 1}, B: kernels.Matrix{Row: 1, Column: 30}, OutRow: 30, OutColumn: 1}},
		{"heads", model.Product{A: 5, B: 6, LabelsA: []int{1, 0, 9}, LabelsB: []int{2, 0, 9}}, []int{4, 7, 9},
			kernels.MatMul{M: 7, N: 9, K: 16, Batches: 4, A: kernels.Matrix{Row: 64, Column: 1, Batch: 16}, B: kernels.Matrix{Row: 64, Column: 1, Batch: 16},
				OutRow: 9, OutColumn: 1, OutBatch: 63}},
	} {
		got, ok := matMul(g, &c.p, c.out)
		c.want.XBits, c.want.Batches = 31, max(1, c.want.Batches)
		if !ok || got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", c.name, got, ok, c.want)
		}
	}
}

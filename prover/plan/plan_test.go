package plan

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/poly"
	"github.com/prove-model/prove-model/prover/soundness"
	"github.com/prove-model/prove-model/prover/whir"
)

// TestCombine checks that the terms applied to the stacks give the joined
// claims: layout, packing, rows and prefixes together.
func TestCombine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		g := &model.Graph{Chunks: rapid.IntRange(1, 3).Draw(t, "chunks")}
		data := map[model.TensorID][]int32{}
		for i := range rapid.IntRange(1, 6).Draw(t, "tensors") {
			shape := make([]int, rapid.IntRange(0, 3).Draw(t, "rank"))
			for j := range shape {
				shape[j] = rapid.IntRange(1, 13).Draw(t, "dim")
			}
			kind := model.Witness
			if rapid.Bool().Draw(t, "fixed") {
				kind = model.Fixed
			}
			g.Tensors = append(g.Tensors, model.Tensor{Shape: shape, Kind: kind, Chunk: rng.IntN(g.Chunks)})
			v := make([]int32, model.Size(shape))
			for j := range v {
				v[j] = rng.Int32N(2001) - 1000
			}
			data[model.TensorID(i)] = v
		}
		p := &Plan{Graph: g, Config: soundness.DefaultConfig}
		if err := p.layOut(given{rowVars: -1}); err != nil {
			t.Fatal(err)
		}
		point := func(n int) []field.QM31 {
			pt := make([]field.QM31, n)
			for i := range pt {
				pt[i] = field.NewQM31(field.M31(rng.Uint32N(field.P)), 3, 4, field.M31(rng.Uint32N(field.P)))
			}
			return pt
		}
		var claims []Claim
		for id, v := range data {
			pt := point(model.Vars(g.Tensors[id].Shape))
			claims = append(claims, Claim{Tensor: id, Point: pt, Value: poly.EvalTensor(g.Tensors[id].Shape, v, pt)})
		}
		terms, value := p.Combine(claims, point(1)[0])
		if got := applyTerms(p, data, terms); got != value {
			t.Fatal("the terms do not give the claims' value")
		}
	})
}

// applyTerms evaluates Σ_x Stack(x)·Q(x) from the rows of all trees.
func applyTerms(p *Plan, data map[model.TensorID][]int32, terms []whir.Term) field.QM31 {
	n := p.Params.RowVars()
	stack := map[uint64]int32{}
	for i := range p.Trees {
		t := &p.Trees[i]
		values := make([][]int32, len(p.Graph.Tensors))
		for _, id := range t.Tensors {
			values[id] = data[id]
		}
		row := make([]int32, 1<<n)
		for r := range t.Rows {
			t.Stack.Fill(p.Graph, values, uint64(r)<<n, row)
			for x, v := range row {
				stack[(t.RowOffset+uint64(r))<<n+uint64(x)] = v
			}
		}
	}
	sum := field.Zero
	for _, t := range terms {
		e := poly.EqTable(t.Point)
		for x := range e {
			sum = sum.Add(t.Coef.Mul(e[x]).MulM31(field.FromInt32(stack[t.Offset+uint64(x)])))
		}
	}
	return sum
}

// TestTargetOfEveryRound: a target that the opening and the look-ups reach with
// grinding, but the fractional sum, which has none, does not.
func TestTargetOfEveryRound(t *testing.T) {
	g := &model.Graph{
		Tensors: []model.Tensor{
			{Shape: []int{4}, Kind: model.Input, Max: 7},
			{Shape: []int{1 << 10}, Kind: model.Witness, Max: model.Bound - 1},
		},
		Tables: []model.Table{{Kind: model.TableRange, Bits: 10, Values: model.None}},
		Steps: []model.Step{{
			Shape: []int{4}, Acc: model.Acc{Linear: []model.Linear{{Coef: 1}}},
			Lo: model.None, Out: model.None, Den: model.None,
		}},
		Inputs: []model.TensorID{0}, Outputs: []model.TensorID{0}, Chunks: 1,
		Mults: []model.Mult{{Tensor: 1}},
	}
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	for target, ok := range map[int]bool{100: true, 114: true, 118: false} {
		_, err := New(g, soundness.Config{TargetBits: target, GrindBits: 24, LogBlowup: 2})
		if (err == nil) != ok {
			t.Errorf("%d bits: %v", target, err)
		}
	}
}

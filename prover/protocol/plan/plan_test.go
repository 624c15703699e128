package plan

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/protocol/whir"
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
		if err := p.layOut(Choice{FixedRowVars: -1, WitnessRowVars: -1}); err != nil {
			t.Fatal(err)
		}
		point := func(n int) []field.QM31 {
			pt := make([]field.QM31, n)
			for i := range pt {
				pt[i] = field.NewQM31(field.M31(rng.Uint32N(field.P)), 3, 4, field.M31(rng.Uint32N(field.P)))
			}
			return pt
		}
		var claims, sums []Claim
		for id, v := range data {
			pt := point(model.Vars(g.Tensors[id].Shape))
			claims = append(claims, Claim{Tensor: id, Point: pt, Value: transcript.Known(poly.EvalTensor(g.Tensors[id].Shape, v, pt))})
			if shape := g.Tensors[id].Shape; len(shape) == 1 && shape[0]&(shape[0]-1) == 0 {
				// A vector as multiplicities are: some of its rows.
				from := rng.IntN(len(v))
				rows := model.Rows{From: int64(from), To: int64(from + 1 + rng.IntN(len(v)-from))}
				sum := int64(0)
				for _, x := range v[rows.From:rows.To] {
					sum += int64(x)
				}
				sums = append(sums, Claim{Tensor: id, Value: transcript.Known(field.FromM31(field.FromInt64(sum))), Saturated: &model.Table{Saturated: []model.Rows{rows}}})
			}
		}
		values := committedValues(p, data)
		for _, list := range [][]Claim{append(sums, claims...), append(claims, sums...)} {
			terms, value := p.Combine(list, point(p.TailVars()), point(1)[0])
			if got := applyTerms(values, terms); got != value {
				t.Fatal("the terms do not give the claims' value")
			}
		}
		terms, _ := p.Combine(claims, point(p.TailVars()), point(1)[0])
		// Every value of the witness's rows has a weight: a tensor's or a tail's.
		weighted := 0
		terms.Range(0, terms.Len(), func(term *whir.Term) {
			if !p.Trees[term.Tree].Fixed {
				weighted += 1 << len(term.Point)
			}
		})
		if w := p.WitnessTree(); w != nil && weighted != w.Rows()<<w.RowVars {
			t.Fatalf("terms on %d of the %d values of the witness's tree", weighted, w.Rows()<<w.RowVars)
		}
	})
}

// committedValues returns the values of every tree, counted as in whir.Term.
func committedValues(p *Plan, data map[model.TensorID][]int32) [][]int32 {
	all := make([][]int32, len(p.Trees))
	dense := make([]ints.Ints, len(p.Graph.Tensors))
	for id, v := range data {
		dense[id] = ints.Of(v)
	}
	for i := range p.Trees {
		t := &p.Trees[i]
		all[i] = make([]int32, t.Slots()<<t.RowVars)
		for k, g := range t.Groups {
			t.Parts[k].Stack.Fill(p.Graph, dense, uint64(t.Parts[k].First)<<t.RowVars, all[i][g.First<<t.RowVars:][:g.Rows<<t.RowVars])
		}
	}
	return all
}

// applyTerms evaluates Σ_x Table(x)·Q(x).
func applyTerms(values [][]int32, terms whir.Terms) field.QM31 {
	sum := field.Zero
	terms.Range(0, terms.Len(), func(t *whir.Term) {
		block := values[t.Tree][t.Offset:][:1<<len(t.Point)]
		sum = sum.Add(t.Coef.Mul(poly.EvalInt32(block, t.Point)))
	})
	return sum
}

// TestTrees: stacks begin with table rows one after the other, in groups of rows,
// and no row length but the key's and the header's is in the way of another.
func TestTrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := &model.Graph{Chunks: rapid.IntRange(0, 3).Draw(t, "chunks")}
		for range rapid.IntRange(0, 2).Draw(t, "fixed") {
			g.Tensors = append(g.Tensors, model.Tensor{Shape: []int{rapid.IntRange(1, 3000).Draw(t, "weights")}, Kind: model.Fixed})
		}
		for chunk := range g.Chunks {
			for range rapid.IntRange(0, 2).Draw(t, "tensors") {
				g.Tensors = append(g.Tensors, model.Tensor{Shape: []int{rapid.IntRange(1, 900).Draw(t, "values")}, Kind: model.Witness, Chunk: chunk})
			}
		}
		choice := Choice{FixedRowVars: -1, WitnessRowVars: -1}
		if rapid.Bool().Draw(t, "given") {
			s := newStacks(g)
			choice = Choice{}
			if s.fixed != nil {
				choice.FixedRowVars = rapid.IntRange(0, 9).Draw(t, "row length of the weights")
			}
			if len(s.witness) > 0 {
				choice.WitnessRowVars = rapid.IntRange(0, 9).Draw(t, "row length of the witness")
			}
		}
		p := &Plan{Graph: g, Config: soundness.Config{TargetBits: 20, GrindBits: 8, LogBlowup: 2}}
		if err := p.layOut(choice); err != nil {
			t.Fatal(err)
		}
		next := uint64(0) // table row
		for i := range p.Trees {
			tree := &p.Trees[i]
			shift := p.Params.RowVars() - tree.RowVars
			if tree.RowOffset != next {
				t.Fatalf("tree %d begins with table row %d, not %d", i, tree.RowOffset, next)
			}
			for k, group := range tree.Groups {
				first := k == 0 || tree.Parts[k].Stack != tree.Parts[k-1].Stack
				if at := tree.RowOffset<<shift + group.First; first && at != next<<shift {
					t.Fatalf("a stack begins with slot %d, not table row %d", at, next)
				}
				next = tree.RowOffset + (group.First+uint64(group.Rows)+1<<shift-1)>>shift
			}
		}
		if len(p.Trees) > 0 && next > 1<<p.Params.Levels[0].FoldVars {
			t.Fatalf("%d table rows in an opening of 2^%d", next, p.Params.Levels[0].FoldVars)
		}
		// The choice that was made is accepted, and others are refused.
		again := &Plan{Graph: g, Config: p.Config}
		made := p.Choice
		if made.Levels == nil {
			made.Levels = []soundness.Level{}
		}
		if err := again.layOut(made); err != nil {
			t.Fatal(err)
		}
		for name, change := range map[string]func(c *Choice){
			"long fixed rows":   func(c *Choice) { c.FixedRowVars = 28 },
			"long witness rows": func(c *Choice) { c.WitnessRowVars = 28 },
			"negative levels": func(c *Choice) {
				c.Levels = append(c.Levels[:len(c.Levels):len(c.Levels)], soundness.Level{FoldVars: -1})
			},
			"no levels":          func(c *Choice) { c.Levels = c.Levels[:0] },
			"other longest rows": func(c *Choice) { c.FixedRowVars, c.WitnessRowVars = c.FixedRowVars+1, c.WitnessRowVars+1 },
		} {
			if len(p.Trees) == 0 && name == "no levels" {
				continue
			}
			c := made
			change(&c)
			if (&Plan{Graph: g, Config: p.Config}).layOut(c) == nil {
				t.Errorf("%s: accepted", name)
			}
		}
	})
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

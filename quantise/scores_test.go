package quantise

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

// Scores of a large model whose table has no more rows than tables have are rounded by one look-up, and
// their bounds follow from the circuit.
func TestScoresAtOnce(t *testing.T) {
	allLarge(t)
	for _, dir := range []string{"llama", "qwen2-window"} {
		x := openText(t, "../hf/testdata/"+dir)
		f := Formats{}
		scores := map[string]bool{}
		for _, n := range x.g.Nodes {
			if makesScores(x.g, n) {
				scores[n.Output] = true
				f[n.Output] = Format{Bits: 11, Weights: 12}
				f[n.Inputs[0]], f[n.Inputs[1]] = Format{Bits: 10}, Format{Bits: 10}
			}
		}
		m, err := Quantise(x.g, x.ranges, Options{Length: longest, Formats: f})
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for i := range m.Graph.Steps {
			s := &m.Graph.Steps[i]
			if s.Out == model.None || !scores[m.Graph.Tensors[s.Out].Name] {
				continue
			}
			found++
			out, table := &m.Graph.Tensors[s.Out], &m.Graph.Tables[s.Table]
			if s.Kind != model.StepLookup || out.Max >= 1<<14 || out.Min <= -1<<14 || len(table.Saturated) != 2 {
				t.Errorf("%s: %s in [%d, %d], by a table of %d bits", dir, out.Name, out.Min, out.Max, table.Bits)
			}
		}
		if found != len(scores) || found == 0 { // once each
			t.Errorf("%s: %d of %d scores are rounded at once", dir, found, len(scores))
		}
		rng := rand.New(rand.NewPCG(66, 67))
		for _, n := range []int{1, 5, longest} {
			at, w := x.run(t, m, x.tokens(rng, n))
			checkBounds(t, at, w)
		}
	}
}

// The scores of a large model's texts have one accumulator. What a prefix gives is what it gives within the text.
func TestScoresOfLargeTexts(t *testing.T) {
	allLarge(t)
	for _, dir := range []string{"llama", "qwen3", "gpt2", "mistral"} {
		x := openText(t, "../hf/testdata/"+dir)
		rng := rand.New(rand.NewPCG(64, 65))
		ids := x.tokens(rng, longest)
		m, c, err := Choose(t.Context(), x.g, []Sample{{Graph: x.at(t, longest), Inputs: [][]float64{ids}}}, x.ranges, Options{Length: longest})
		if err != nil {
			t.Fatal(err)
		}
		if c.Error > Target {
			t.Errorf("%s: error %g", dir, c.Error)
		}
		at, w := x.run(t, m, ids)
		maxima, lookUps := 0, 0
		for i := range at.Graph.Steps {
			s := &at.Graph.Steps[i]
			n := len(s.Shape)
			if s.Kind == model.StepMax {
				maxima++
			}
			if s.Kind == model.StepLookup && n > 2 && s.Shape[n-1] == longest && s.Shape[n-2] == longest {
				lookUps++
			}
		}
		t.Logf("%s: error %.5f, %d runs, %d look-ups a score of %d layers", dir, c.Error, c.Runs, lookUps/maxima, maxima)
		if maxima == 0 || lookUps > 6*maxima { // a rest takes two where few share a table
			t.Errorf("%s: %d look-ups a score", dir, lookUps/max(maxima, 1))
		}
		whole := w.Tensor(at.Graph.Outputs[0])
		part, w := x.run(t, m, ids[:4])
		if got := w.Tensor(part.Graph.Outputs[0]); !slices.Equal(got, whole[:len(got)]) {
			t.Errorf("%s: the first 4 tokens alone give other integers", dir)
		}
	}
}

// Masked scores that are lowered have no weight, wherever in their range scores are, are no
// maximum, and change nothing of a prefix; and what is known of them is known of no other steps.
func TestLoweredScores(t *testing.T) {
	allLarge(t)
	for _, dir := range []string{"llama", "qwen2-window"} {
		x := openText(t, "../hf/testdata/"+dir)
		f := Formats{}
		for _, n := range x.g.Nodes {
			if makesScores(x.g, n) {
				f[n.Output] = Format{Bits: 8, Weights: 12} // of 2^-8
				f[n.Inputs[0]], f[n.Inputs[1]] = Format{Bits: 10}, Format{Bits: 10}
				x.ranges[n.Output] = Range{Min: -0.45, Max: 0.45}
			}
		}
		m, err := Quantise(x.g, x.ranges, Options{Length: longest, Formats: f})
		if err != nil {
			t.Fatal(err)
		}
		lowered := 0
		for _, b := range m.Blocks {
			if b.Kind == fixed.LoweredSoftmaxBlock {
				lowered++
			}
		}
		if lowered != maskedLayers(x) {
			t.Fatalf("%s: the scores of %d layers are lowered, of others not", dir, lowered)
		}
		rng := rand.New(rand.NewPCG(68, 69))
		ids := x.tokens(rng, longest)
		var whole []int32
		for _, n := range []int{longest, 1, 2, 6} {
			at, w := x.run(t, m, ids[:n])
			checkBounds(t, at, w)
			texts := slices.DeleteFunc(slices.Clone(at.Blocks), func(b fixed.Block) bool {
				return !(b.Kind == fixed.TextSoftmaxBlock || b.Kind == fixed.LoweredSoftmaxBlock)
			})
			for _, node := range x.g.Nodes {
				if graph.Kind(node.Op) != "Softmax" {
					continue
				}
				first := texts[0].Tensors
				texts = texts[1:]
				top := first + slices.IndexFunc(at.Graph.Tensors[first:], func(t model.Tensor) bool { return t.Name == "is the maximum" })
				mask := x.g.Consts[node.Inputs[1]] // of the longest text
				for _, id := range []model.TensorID{model.TensorID(top), at.Held[node.Output]} {
					for e, v := range w.Tensor(id) {
						row, column := e/n%n, e%n
						if masked := mask.I64[row*longest+column] == 0; masked && v != 0 || n == 1 && v == 0 {
							t.Fatalf("%s, %s: row %d has %d at %d of %q", dir, node.Name, row, v, column, at.Graph.Tensors[id].Name)
						}
					}
				}
			}
			got := w.Tensor(at.Graph.Outputs[0])
			if n == longest {
				whole = got
			} else if !slices.Equal(got, whole[:len(got)]) {
				t.Errorf("%s: the first %d tokens alone give other integers", dir, n)
			}
		}
		at, err := m.At(model.Instance{Sizes: []int{longest}})
		if err != nil {
			t.Fatal(err)
		}
		all := fixed.NewColumns(columns(at))
		for i := range m.Blocks {
			b := m.Blocks[i]
			if !(b.Kind == fixed.TextSoftmaxBlock || b.Kind == fixed.LoweredSoftmaxBlock) {
				continue
			}
			if b.Kind == fixed.LoweredSoftmaxBlock {
				// What the key says of the mask's range changes nothing.
				g := *at.Graph
				g.Tensors = slices.Clone(g.Tensors)
				g.Tensors[b.Mask].Max = 0
				said, _, err := b.Replay(&g, longest, all)
				if err != nil {
					t.Fatal(err)
				}
				masked := model.TensorID(b.Tensors)
				of, in := at.Graph.Tensors[b.Of], said.Results[masked]
				if gap := at.Graph.Tensors[masked].Def[1].Coef; in.Min != of.Min || in.Max != of.Max+gap || said.Given[b.Mask].Max != 1 {
					t.Errorf("%s: masked scores in [%d, %d], raised by %d", dir, in.Min, in.Max, gap)
				}
				// The greatest masked score is as far below the least of the others.
				if far := of.Min + at.Graph.Tensors[masked].Def[1].Coef - of.Max; far < int64(12)<<of.Frac || math.Round(fixed.Pow2(16)*math.Exp(-12)) != 0 {
					t.Errorf("%s: masked scores are %d below others", dir, far)
				}
				b.Kind = fixed.TextSoftmaxBlock
			} else {
				b.Kind = fixed.LoweredSoftmaxBlock
			}
			if _, _, err := b.Replay(at.Graph, longest, all); !errors.Is(err, fixed.ErrOtherSteps) {
				t.Errorf("%s: a block of another kind: %v", dir, err)
			}
		}
	}
}

// maskedLayers counts the layers whose scores are masked.
func maskedLayers(x *text) (n int) {
	for _, node := range x.g.Nodes {
		if graph.Kind(node.Op) == "Softmax" && len(node.Inputs) == 2 {
			n++
		}
	}
	return n
}

// makesScores reports whether a node multiplies two computed matrices for a Softmax alone.
func makesScores(g *graph.Graph, n *graph.Node) bool {
	if graph.Kind(n.Op) != "MatMul" || g.Consts[n.Inputs[0]] != nil || g.Consts[n.Inputs[1]] != nil {
		return false
	}
	softmax := 0
	for _, r := range g.Nodes {
		for i, in := range r.Inputs {
			if in == n.Output && (i > 0 || graph.Kind(r.Op) != "Softmax") {
				return false
			} else if in == n.Output {
				softmax++
			}
		}
	}
	return softmax == 1
}

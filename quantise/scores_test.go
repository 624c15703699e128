package quantise

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// The factors of scores fit an accumulator, and no bit more does.
func TestFactorsOf(t *testing.T) {
	const limit = model.Bound/2 - 1<<mostShift
	for count := 1; count <= 4096; count++ {
		a, b, ok := factorsOf(count)
		reach := func(a, b int) int64 { return int64(count) * (1<<a - 1) * (1<<b - 1) }
		if reach(a, b) > limit || b < factorBits && reach(a, b+1) <= limit && reach(a+1, b) <= limit {
			t.Errorf("%d products: %d and %d bits", count, a, b)
		}
		if ok != (a >= leastFactors) || a > b || b > a+1 || b > factorBits {
			t.Errorf("%d products: %d and %d bits, %v", count, a, b, ok)
		}
	}
	if a, b, ok := factorsOf(128); a != 11 || b != 11 || !ok {
		t.Errorf("heads of 128: %d and %d bits, %v", a, b, ok)
	}
}

// Scores of a large model whose table has no more rows than tables have are rounded by one look-up, and
// their bounds follow from the circuit.
func TestScoresAtOnce(t *testing.T) {
	allLarge(t)
	for _, dir := range []string{"llama", "qwen2-window"} {
		x := openText(t, "../hf/testdata/"+dir)
		a, f := newDefUse(x.g), Formats{}
		scores := map[string]bool{}
		for _, n := range x.g.Nodes {
			if a.scores(n) && a.softened(n.Output) {
				scores[n.Output] = true
				f[n.Output] = Format{11, factorBits}
				f[n.Inputs[0]], f[n.Inputs[1]] = Format{Bits: leastLimbed}, Format{Bits: leastLimbed}
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
		a, f := newDefUse(x.g), Formats{}
		for _, n := range x.g.Nodes {
			if a.scores(n) && a.softened(n.Output) {
				f[n.Output] = Format{8, factorBits} // of 2^-8
				f[n.Inputs[0]], f[n.Inputs[1]] = Format{Bits: leastLimbed}, Format{Bits: leastLimbed}
				x.ranges[n.Output] = Range{Min: -0.45, Max: 0.45}
			}
		}
		m, err := Quantise(x.g, x.ranges, Options{Length: longest, Formats: f})
		if err != nil {
			t.Fatal(err)
		}
		lowered := 0
		for _, b := range m.Blocks {
			if b.Kind == loweredSoftmaxBlock {
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
			texts := slices.DeleteFunc(slices.Clone(at.Blocks), func(b Block) bool { return !b.ofText() })
			for _, node := range x.g.Nodes {
				if !isSoftmax(node.Op) {
					continue
				}
				first := texts[0].Tensors
				texts = texts[1:]
				top := first + slices.IndexFunc(at.Graph.Tensors[first:], func(t model.Tensor) bool { return t.Name == "is the maximum" })
				mask := x.g.Consts[node.Inputs[1]] // of the longest text
				for _, id := range []model.TensorID{model.TensorID(top), at.entries[node.Output]} {
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
		all := NewColumns(columns(at))
		for i := range m.Blocks {
			b := m.Blocks[i]
			if !b.ofText() {
				continue
			}
			if b.Kind == loweredSoftmaxBlock {
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
				if far := of.Min + at.Graph.Tensors[masked].Def[1].Coef - of.Max; far < int64(loweredBy)<<of.Frac || math.Round(pow2(mostLowered)*math.Exp(-loweredBy)) != 0 {
					t.Errorf("%s: masked scores are %d below others", dir, far)
				}
				b.Kind = textSoftmaxBlock
			} else {
				b.Kind = loweredSoftmaxBlock
			}
			if _, _, err := b.Replay(at.Graph, longest, all); !errors.Is(err, ErrOtherSteps) {
				t.Errorf("%s: a block of another kind: %v", dir, err)
			}
		}
	}
}

// maskedLayers counts the layers whose scores are masked.
func maskedLayers(x *text) (n int) {
	for _, node := range x.g.Nodes {
		if isSoftmax(node.Op) && len(node.Inputs) == 2 {
			n++
		}
	}
	return n
}

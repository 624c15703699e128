package prover

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/hf"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/verifier"
	"github.com/prove-model/prove-model/quantise"
)

// severalTexts is a language model with three texts of five tokens in one proof, with the logits at the last positions of each.
func severalTexts(t *testing.T) *fixture {
	t.Helper()
	m, err := hf.Open("../../hf/testdata/llama")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	fg, err := m.Writing(8, 2)
	if err != nil {
		t.Fatal(err)
	}
	values, err := fg.RunFloat([][]float64{{7, 30, 7, 2, 41, 19, 5, 11}, {2, 3}})
	if err != nil {
		t.Fatal(err)
	}
	q, err := quantise.Quantise(fg, quantise.Ranges(values), quantise.Options{Mode: "w8a8", Length: 8})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{}
	if f.key, f.tree, err = Commit(context.Background(), q.Circuit, q.Weights, proof.Security{TargetBits: 60, GrindBits: 4}, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := f.key.SetText(&proof.Text{}); err != nil {
		t.Fatal(err)
	}
	p, err := f.key.Plan(model.Instance{Sizes: []int{5, 2}, Texts: 3})
	if err != nil {
		t.Fatal(err)
	}
	f.b = &builder{*p.Graph, q.Weights}
	f.in = f.b.g.Widen([][]int32{{1, 5, 9, 4, 33, 7, 7, 2, 40, 3, 21, 8, 13, 6, 30}, {3, 4, 3, 4, 3, 4}}, nil, true)
	return f
}

// crossed has operands of products with an axis of texts, of which both have one, read those of other texts: keys or values
// of attention.
func crossed(nth int) func(*builder) {
	return func(b *builder) {
		for i := range b.g.Steps {
			for _, p := range b.g.Steps[i].Acc.Products {
				t := &b.g.Tensors[p.B]
				if !slices.Contains(p.LabelsA, 0) || p.LabelsB[0] != 0 || t.Kind != model.Virtual || len(t.Shape) < 4 {
					continue
				}
				if nth--; nth >= 0 {
					continue
				}
				v := t.Def[0].View // a clone's
				v.Groups[0].Base, v.Groups[0].Strides = t.Shape[0]-1, []int{-1}
				return
			}
		}
		panic("no such product")
	}
}

// A prover of several texts who computes with what is another text's, and does everything else as it must, is refused.
func TestDishonestTexts(t *testing.T) {
	f := severalTexts(t)
	if err := f.try(t, cheat{}); err != nil {
		t.Fatalf("the honest control is rejected: %v", err)
	}
	honest, err := forward.Run(t.Context(), &f.b.g, f.b.w, f.in)
	if err != nil {
		t.Fatal(err)
	}
	// runs has the prover run other inputs than it states.
	runs := func(change func(in [][]int32)) func(b *builder, w *forward.Witness) {
		return func(b *builder, w *forward.Witness) {
			in := slices.Clone(f.in)
			for i := range in {
				in[i] = slices.Clone(in[i])
			}
			change(in)
			other, err := forward.Run(t.Context(), &b.g, b.w, in)
			if err != nil {
				t.Fatal(err)
			}
			for id, values := range other.Values {
				if b.g.Tensors[id].Kind != model.Input {
					w.Values[id] = values
				}
			}
			w.Keys = other.Keys
		}
	}
	for name, c := range map[string]cheat{
		"keys of another text":                {graph: crossed(0)},
		"values of another text":              {graph: crossed(1)},
		"keys of another text in layer 2":     {graph: crossed(2)},
		"logits of another text's last token": {witness: runs(func(in [][]int32) { in[2][1] = in[2][3] })},
		"logits of two texts exchanged":       {witness: runs(func(in [][]int32) { in[2][1], in[2][3] = in[2][3], in[2][1] })},
		"logits at an earlier token":          {witness: runs(func(in [][]int32) { in[2][5]-- })},
		"another token in one text":           {witness: runs(func(in [][]int32) { in[0][7]++ })},
		"two texts exchanged": {witness: runs(func(in [][]int32) {
			in[0] = slices.Concat(in[0][5:10], in[0][:5], in[0][10:])
		})},
		"one text in the place of another": {witness: runs(func(in [][]int32) { copy(in[0][5:10], in[0][:5]) })},
		"an entry of one text": {witness: func(b *builder, w *forward.Witness) {
			out := b.made("layers.1.self_attn.attention/Reshape_4").Out
			w.Values[out] = slices.Clone(w.Values[out])
			w.Values[out][len(w.Values[out])/3]++
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.graph != nil && !f.differs(t, c, honest) {
				t.Fatal("the cheat changes nothing")
			}
			if err := f.try(t, c); !errors.Is(err, verifier.ErrInvalid) {
				t.Errorf("%v", err)
			}
		})
	}
}

// Each text's integers are those of the circuit of that text alone.
func TestTextsAlone(t *testing.T) {
	f := severalTexts(t)
	all, err := forward.Run(t.Context(), &f.b.g, f.b.w, f.in)
	if err != nil {
		t.Fatal(err)
	}
	one, err := f.key.Circuit.At(model.Instance{Sizes: []int{5, 2}})
	if err != nil {
		t.Fatal(err)
	}
	for text := range 3 {
		alone, err := forward.Run(t.Context(), one, f.b.w, [][]int32{model.OfText(f.in[0], text, 3), model.OfText(f.in[1], text, 3)})
		if err != nil {
			t.Fatal(err)
		}
		for id := range one.Tensors {
			if one.Tensors[id].Kind == model.Witness && id < len(f.key.Circuit.Graph.Tensors) &&
				!slices.Equal(alone.Values[id], model.OfText(all.Values[id], text, 3)) {
				t.Errorf("text %d has another %s than alone", text, one.Tensors[id].Name)
			}
		}
	}
}

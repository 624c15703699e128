package prover

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/hf"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/verifier"
	"github.com/prove-model/prove-model/quantise"
)

// languageModel is a language model with experts and a text of six tokens.
func languageModel(t *testing.T) *fixture {
	t.Helper()
	m, err := hf.Open("../../hf/testdata/mixtral")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	ids := []float64{7, 30, 7, 2, 41, 19}
	fg, err := m.Graph(len(ids), 0)
	if err != nil {
		t.Fatal(err)
	}
	values, err := fg.RunFloat([][]float64{ids})
	if err != nil {
		t.Fatal(err)
	}
	q, err := quantise.Quantise(fg, quantise.Ranges(values), quantise.Options{Mode: "w8a8"})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{b: &builder{*q.Graph, q.Weights}}
	if f.key, f.tree, err = Commit(context.Background(), f.b.g.Template(), f.b.w, proof.Security{TargetBits: 60, GrindBits: 4}, Options{}); err != nil {
		t.Fatal(err)
	}
	if f.in, _, err = q.QuantiseInput([][]float64{ids}); err != nil {
		t.Fatal(err)
	}
	return f
}

// all lists the tensors with a name that ends so.
func (b *builder) all(name string) []model.TensorID {
	var ids []model.TensorID
	for i := range b.g.Tensors {
		if strings.HasSuffix(b.g.Tensors[i].Name, name) {
			ids = append(ids, model.TensorID(i))
		}
	}
	if ids == nil {
		panic("no tensor " + name)
	}
	return ids
}

// made returns the step whose result is the first tensor of that name.
func (b *builder) made(name string) *model.Step {
	for i := range b.g.Steps {
		if s := &b.g.Steps[i]; s.Out != model.None && b.g.Tensors[s.Out].Name == name {
			return s
		}
	}
	panic("no step makes " + name)
}

// A prover of a language model that computes with another token's embedding, another
// key in the cache, another mask, other positions, other experts or other logits, and
// does everything else as it must, is refused.
func TestDishonestLanguageModels(t *testing.T) {
	f := languageModel(t)
	honest, err := forward.Run(context.Background(), &f.b.g, f.b.w, f.in)
	if err != nil {
		t.Fatal(err)
	}
	const first = "layers.0.self_attn.attention/"
	weight := func(name string, change func(v []int32)) func(*builder) {
		return func(b *builder) { change(b.edit(b.find(name))) }
	}
	entry := func(name string, at int) func(*builder, *forward.Witness) {
		return func(b *builder, w *forward.Witness) {
			s := b.made(name)
			w.Values[s.Out] = slices.Clone(w.Values[s.Out])
			w.Values[s.Out][at]++
		}
	}
	for name, c := range map[string]cheat{
		"a row of the embedding":                 {weights: weight("model.embed_tokens.weight", func(v []int32) { v[7*16+4] += 9 })},
		"two rows of the embedding exchanged":    {weights: weight("model.embed_tokens.weight", func(v []int32) { swapRows(v, 16, 7, 8) })},
		"a row, opened as committed":             {openHonestly: true, weights: weight("model.embed_tokens.weight", func(v []int32) { v[7*16+4] += 9 })},
		"other keys in the cache":                {weights: weight("model.layers.0.self_attn.k_proj.weight", func(v []int32) { v[5] += 40 })},
		"all keys moved":                         {graph: func(b *builder) { b.made(first + "Reshape_2").Acc.Const += 1 << 9 }},
		"a key of one token":                     {witness: entry(first+"Reshape_4", 2*8+3)},
		"a value of one token":                   {witness: entry(first+"Reshape_5", 1*8+2)},
		"a mask that shows the next token":       {graph: mask(1, 0)},
		"the same in the second layer alone":     {graph: mask(1, 1)},
		"a mask that hides the token itself":     {graph: mask(-1, 1)},
		"positions that begin one later":         {weights: positions},
		"positions, opened as committed":         {openHonestly: true, weights: positions},
		"a router that chooses other experts":    {weights: weight("model.layers.0.block_sparse_moe.gate.weight", func(v []int32) { swapRows(v, 16, 0, 3) })},
		"an expert's choice":                     {witness: chosen},
		"another expert's weights":               {weights: weight("model.layers.0.block_sparse_moe.experts.w2.weight", func(v []int32) { swapRows(v, len(v)/4, 1, 2) })},
		"an expert for each other, as committed": {openHonestly: true, weights: weight("model.layers.0.block_sparse_moe.experts.w1.weight", slices.Reverse[[]int32])},
		"an output layer that prefers one token": {weights: weight("lm_head.weight", func(v []int32) { v[16*11+3] += 30 })},
	} {
		t.Run(name, func(t *testing.T) {
			if !f.differs(t, c, honest) {
				t.Fatal("the cheat changes nothing")
			}
			if err := f.try(t, c); !errors.Is(err, verifier.ErrInvalid) {
				t.Errorf("%v", err)
			}
		})
	}
	if err := f.try(t, cheat{}); err != nil {
		t.Errorf("the honest control is rejected: %v", err)
	}
}

// differs says whether a cheat has another witness than the honest prover.
func (f *fixture) differs(t *testing.T, c cheat, honest *forward.Witness) bool {
	b := f.clone()
	for _, change := range []func(*builder){c.graph, c.weights} {
		if change != nil {
			change(b)
		}
	}
	w, err := forward.Run(context.Background(), &b.g, b.w, f.in)
	if err != nil {
		t.Fatal(err)
	}
	if c.witness != nil {
		c.witness(b, w)
	}
	for i := range w.Values {
		if b.g.Tensors[i].Kind == model.Witness && !slices.Equal(w.Values[i], honest.Values[i]) {
			return true
		}
	}
	return false
}

// mask moves the diagonal of a layer's mask.
func mask(by int64, layer int) func(*builder) {
	return func(b *builder) {
		id := b.all("Softmax/mask")[layer]
		f := *b.g.Tensors[id].Formula
		f.Offset += by
		b.g.Tensors[id].Formula = &f
	}
}

// positions gives each token the angles of the next.
func positions(b *builder) {
	for i := range b.g.Tensors {
		if n := b.g.Tensors[i].Name; b.g.Tensors[i].Kind == model.Fixed && (strings.HasPrefix(n, "rope/cos") || strings.HasPrefix(n, "rope/sin")) {
			v := b.edit(model.TensorID(i))
			copy(v, slices.Clone(v[b.g.Tensors[i].Shape[1]:]))
		}
	}
}

// chosen has the first slot of the first token be an expert that none of its slots is.
func chosen(b *builder, w *forward.Witness) {
	s := b.made("layers.0.block_sparse_moe.gate/Slots")
	v := slices.Clone(w.Values[s.Out])
	w.Values[s.Out] = v
	i, j := slices.Index(v[:4], 1), 0
	for v[j] == 1 || v[4+j] == 1 {
		j++
	}
	v[i], v[j] = 0, 1
}

func swapRows(v []int32, width, i, j int) {
	for k := range width {
		v[i*width+k], v[j*width+k] = v[j*width+k], v[i*width+k]
	}
}

package main

import (
	"context"
	"slices"

	"github.com/prove-model/prove-model/hf"
	"github.com/prove-model/prove-model/internal/golden"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/verifier"
	"github.com/prove-model/prove-model/quantise"
)

// segment is a proof of the first segment of a text, a part of which the model wrote.
func segment() (_ *golden.Circuit, err error) {
	defer must.Catch(&err)
	c := must.Get(severalTexts())
	const tokens, logits = 6, 4 // the last logits choose the token behind the segment
	c.Inputs = [][]int32{c.Inputs[0][:tokens], {2, 3, 4, 5}}
	c.Instance = model.Instance{Sizes: []int{tokens, logits}, Segment: &model.Segment{}, Reveals: []model.Reveal{{Output: 0}}}
	return c, nil
}

// severalTexts is a proof of three texts of a language model. Their lengths differ, and so do the numbers of tokens that the model wrote.
func severalTexts() (_ *golden.Circuit, err error) {
	defer must.Catch(&err)
	h := must.Get(hf.Open("hf/testdata/llama"))
	defer h.Close()
	const longest, most = 6, 3
	fg := must.Get(h.Writing(longest, most))
	values := must.Get(fg.RunFloat([][]float64{{7, 30, 7, 2, 41, 19}, {2, 3, 4}}))
	m := must.Get(quantise.Quantise(fg, quantise.Ranges(values), quantise.Options{Mode: "w8a8", Length: longest}))
	c := &golden.Circuit{Template: m.Circuit, Weights: m.Weights, Security: proof.DefaultSecurity, Text: &proof.Text{Generates: true}}
	c.Inputs = make([][]int32, 2)
	prompts, written := [][]int32{{1, 5, 9}, {4}, {7, 7}}, []int{3, 2, 1}
	for i, text := range prompts {
		ids, positions := slices.Clone(text), []int32{}
		for range written[i] {
			at := int32(len(ids) - 1)
			next := must.Get(greatest(m, append(slices.Clone(ids), ids[at]), at))
			ids, positions = append(ids, next), append(positions, at)
		}
		for len(ids) < longest {
			ids = append(ids, ids[len(ids)-1])
		}
		for len(positions) < most {
			positions = append(positions, positions[len(positions)-1])
		}
		c.Inputs[0], c.Inputs[1] = append(c.Inputs[0], ids...), append(c.Inputs[1], positions...)
	}
	c.Instance = model.Instance{Sizes: []int{longest, most}, Texts: len(prompts), Reveals: []model.Reveal{{Output: 0}}}
	return c, nil
}

// greatest returns the token with the greatest logit at a position of a text.
func greatest(m *quantise.Model, ids []int32, at int32) (_ int32, err error) {
	defer must.Catch(&err)
	one := must.Get(m.At(model.Instance{Sizes: []int{len(ids), 1}}))
	wit := must.Get(forward.Run(context.Background(), one.Graph, one.Weights, [][]int32{ids, {at}}))
	defer wit.Close()
	return int32(verifier.Greatest(wit.Tensor(one.Graph.Outputs[0]))), nil
}

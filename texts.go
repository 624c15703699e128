package provemodel

import (
	"errors"
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise"
)

// MaxTexts is the most texts of one proof (ProveTexts).
const MaxTexts = model.MaxTexts

// rounded returns the quantised model in the size of an input, and the input as it rounds it, with how many values it clamped; of
// several texts that for as many, all as long as the longest, and the inputs of all, one after the other.
func (c *Circuit) rounded(in []Input) (q *quantise.Model, ints [][]int32, clamped int, err error) {
	if len(in) == 1 {
		if q, err = c.sized(in[0]); err != nil {
			return nil, nil, 0, err
		}
		ints, clamped, err = q.QuantiseInput(in[0])
		return q, ints, clamped, err
	}
	if in, err = c.alike(in); err != nil {
		return nil, nil, 0, err
	}
	one, err := c.sized(in[0])
	if err != nil {
		return nil, nil, 0, err
	}
	ints = make([][]int32, len(in[0]))
	for i, text := range in {
		own, n, err := one.QuantiseInput(text)
		if err != nil {
			return nil, nil, 0, fmt.Errorf("text %d: %w", i+1, err)
		}
		for k := range ints {
			ints[k] = append(ints[k], own[k]...)
		}
		clamped += n
	}
	q, err = c.sizedFor(in[0], len(in))
	return q, ints, clamped, err
}

// alike returns texts that are all as long as the longest. Behind the end of a text that a model has written its last token is
// repeated, which no token before looks at, and so is the position of its last logits.
func (c *Circuit) alike(texts []Input) ([]Input, error) {
	if !c.text || !c.free() {
		return nil, errors.New("several texts in one proof: the circuit is not one for texts of any length")
	}
	writes := c.language != nil && c.language.Generates && c.language.Start == nil // causally, and nothing else
	if len(texts) > MaxTexts {
		return nil, fmt.Errorf("%d texts are more than one proof states, %d", len(texts), MaxTexts)
	}
	longest := make([]int, len(c.quantised.Circuit.Graph.Inputs))
	for i, text := range texts {
		if len(text) != len(longest) {
			return nil, fmt.Errorf("text %d: %d inputs, and the model has %d", i+1, len(text), len(longest))
		}
		for k := range text {
			if len(text[k]) == 0 {
				return nil, fmt.Errorf("text %d: input %d has no entries", i+1, k+1)
			}
			if longest[k] = max(longest[k], len(text[k])); len(text[k]) != len(texts[0][k]) && !writes {
				return nil, fmt.Errorf("text %d is longer or shorter than the first: the model does not write (MaxTokens), "+
					"or is an encoder–decoder, so that texts of one proof have one length", i+1)
			}
			if c.padding != nil && k == 0 && slices.Contains(text[k], float64(*c.padding)) {
				return nil, fmt.Errorf("text %d: %w", i+1, paddingError(slices.Index(text[k], float64(*c.padding)), float64(*c.padding)))
			}
		}
	}
	out := make([]Input, len(texts))
	for i, text := range texts {
		for k, values := range text {
			for len(values) < longest[k] {
				values = append(values[:len(values):len(values)], values[len(values)-1])
			}
			out[i] = append(out[i], values)
		}
	}
	return out, nil
}

// OfText returns what a proof of several texts states of one of them, counted from 0, as a proof of that alone would: but its tokens and
// logits are padded to the lengths of the longest, with the last of its own.
func (s *Statement) OfText(text int) (*Statement, error) {
	if text < 0 || text >= s.Several {
		return nil, fmt.Errorf("text %d of %d", text+1, s.Several)
	}
	one := *s
	one.Several, one.Texts = 0, nil
	one.Inputs, one.Outputs = ofText(s.Inputs, text), ofText(s.Outputs, text)
	if s.Texts != nil {
		one.Generated = s.Texts[text]
	}
	return &one, nil
}

func ofText(list []Tensor, text int) []Tensor {
	own := slices.Clone(list)
	for i := range own {
		t := &own[i]
		t.Shape = t.Shape[1:]
		from, n := text*model.Size(t.Shape), len(t.Values) // of which there may be the first alone
		t.Values = t.Values[min(from, n):min(from+model.Size(t.Shape), n)]
	}
	return own
}

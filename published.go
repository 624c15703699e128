package provemodel

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/hf"
	"github.com/prove-model/prove-model/hf/families"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// usualContext is the most tokens that keys are for where nothing is said of it.
const usualContext = 1024

// openPublished opens a folder in the Hugging Face layout, or a file of weights.
func openPublished(path string, o *OpenOptions) (*Model, error) {
	m, err := hf.Open(path)
	if err != nil {
		return nil, err
	}
	g, most, err := o.graphOf(m)
	if err != nil {
		m.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	out := newModel(path, g, most)
	if m.Context > 0 {
		text, err := hf.TextOf(path, m.Vocabulary)
		if err != nil {
			m.Close()
			return nil, err
		}
		text.Generates = o.MaxTokens > 0
		// A key of a text says which logits it is about: where they are of some positions, these are the last.
		if text.Generates || text.HasTokenizer() || len(text.Ends) > 0 || len(g.Inputs) == 2 {
			out.language = text
		}
	}
	return out, nil
}

// graphOf builds the graph that the options ask for. most is the most tokens that keys
// are for, 0 for a model of images.
func (o *OpenOptions) graphOf(m *hf.Model) (g *graph.Graph, most int, err error) {
	tokens, most, err := o.tokensOf(m)
	if err != nil {
		return nil, 0, err
	}
	at := o.LogitsAt
	if at != 0 && (m.Context == 0 || o.MaxTokens > 0) {
		return nil, 0, errors.New("LogitsAt is for language models that write nothing: MaxTokens says itself where logits are")
	}
	if len(o.Input) == 2 && o.Input[1].Name == families.Positions {
		n := model.Size(o.Input[1].Shape)
		if at != 0 && at != n {
			return nil, 0, fmt.Errorf("the input has %d positions, and LogitsAt is %d", n, at)
		}
		at = n
	}
	if o.MaxTokens > 0 {
		if !m.Next {
			return nil, 0, errors.New("--max-tokens: the model is no language model that writes: it does not give the logits of next tokens")
		}
		if len(o.Input) > 0 {
			tokens += o.MaxTokens
		}
		if tokens > most || tokens <= o.MaxTokens {
			return nil, 0, fmt.Errorf("%d tokens and %d more are %d: the key is for up to %d (--tokens), and the model takes %d", tokens-o.MaxTokens, o.MaxTokens, tokens, most, m.Context)
		}
		at = o.MaxTokens
	}
	g, err = m.GraphAt(tokens, at)
	return g, most, err
}

// tokensOf is the number of tokens that the options have for the float model, and the
// most that there may be: in so many words, as a dimension, or by an input.
func (o *OpenOptions) tokensOf(m *hf.Model) (tokens, most int, err error) {
	said, input := o.Tokens, 0
	for name, n := range o.Dims {
		if name != families.Tokens || m.Context == 0 {
			return 0, 0, fmt.Errorf("--dim %s: the model's inputs have no such dimension", name)
		}
		if said != 0 && said != n {
			return 0, 0, fmt.Errorf("--dim %s=%d and %d tokens contradict each other", name, n, said)
		}
		said = n
	}
	if m.Context == 0 {
		if said != 0 {
			return 0, 0, errors.New("tokens: the model takes images")
		}
		return 0, 0, nil
	}
	if len(o.Input) > 0 {
		ids := o.Input[0].Values
		for i, id := range ids {
			if id < 0 || id >= float64(m.Vocabulary) || id != math.Trunc(id) {
				return 0, 0, fmt.Errorf("token %d is %s: the model's tokens are 0 to %d", i+1, strconv.FormatFloat(id, 'f', -1, 64), m.Vocabulary-1)
			}
		}
		if input = len(ids); input == 0 { // a shape alone
			input = graph.Size(o.Input[0].Shape)
		}
	}
	if most = said; said == 0 {
		most = min(m.Context, max(usualContext, input))
	}
	switch {
	case most < 1 || most > m.Context:
		return 0, 0, fmt.Errorf("%d tokens: the model takes 1 to %d", most, m.Context)
	case input > most:
		return 0, 0, fmt.Errorf("the input has %d tokens, and at most %d are asked for (--tokens)", input, most)
	case input > 0:
		return input, most, nil
	case said == 0:
		return 0, 0, fmt.Errorf("the model takes any number of tokens up to %d: give an input, or their number with --tokens N", m.Context)
	}
	return said, most, nil
}

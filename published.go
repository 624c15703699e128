package provemodel

import (
	"errors"
	"fmt"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/hf"
	"github.com/prove-model/prove-model/hf/families"
	"github.com/prove-model/prove-model/prover/model"
)

// Tokens is the number of tokens of a language model's input, where For does not
// give them: the float model is opened for it. For Open.
func Tokens(n int) Option { return func(o *options) { o.tokens = n } }

// LogitsAt has a language model give logits at n positions alone, which are its second
// input. For Open.
func LogitsAt(n int) Option { return func(o *options) { o.logits = n } }

// MaxTokens has a language model write up to n tokens after a prompt (Circuit.Write):
// it is opened for as many more than For and Tokens say, and gives logits where these
// are chosen. Its key says that proofs are of such texts. For Open.
func MaxTokens(n int) Option { return func(o *options) { o.write = n } }

// openPublished opens a folder in the Hugging Face layout, or a file of weights.
func openPublished(path string, o *options) (*Model, error) {
	m, err := hf.Open(path)
	if err != nil {
		return nil, err
	}
	g, err := o.graphOf(m)
	if err != nil {
		m.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	out := newModel(path, g)
	if m.Context > 0 {
		text, err := hf.TextOf(path, m.Vocabulary)
		if err != nil {
			m.Close()
			return nil, err
		}
		text.Generates = o.write > 0
		if text.Generates || text.HasTokenizer() || len(text.Ends) > 0 {
			out.text = text
		}
	}
	return out, nil
}

// graphOf builds the graph that the options ask for.
func (o *options) graphOf(m *hf.Model) (*graph.Graph, error) {
	tokens, err := o.tokensOf(m)
	if err != nil {
		return nil, err
	}
	at := o.logits
	if len(o.arrays) == 2 && o.arrays[1].Name == families.Positions {
		at = model.Size(o.arrays[1].Shape)
	}
	if o.write > 0 {
		if !m.Next {
			return nil, errors.New("--max-tokens: the model is no language model that writes: it does not give the logits of next tokens")
		}
		if n := tokens + o.write; n > m.Context {
			return nil, fmt.Errorf("%d tokens and %d more are %d: the model takes 1 to %d", tokens, o.write, n, m.Context)
		}
		tokens, at = tokens+o.write, o.write
	}
	return m.GraphAt(tokens, at)
}

// tokensOf is the number of tokens that options say: in so many words, as a
// dimension, or by an input.
func (o *options) tokensOf(m *hf.Model) (int, error) {
	said, input := o.tokens, 0
	for name, n := range o.dims {
		if name != families.Tokens || m.Context == 0 {
			return 0, fmt.Errorf("--dim %s: the model's inputs have no such dimension", name)
		}
		if said != 0 && said != n {
			return 0, fmt.Errorf("--dim %s=%d and %d tokens contradict each other", name, n, said)
		}
		said = n
	}
	if m.Context == 0 {
		if said != 0 {
			return 0, errors.New("tokens: the model takes images")
		}
		return 0, nil
	}
	if len(o.arrays) > 0 {
		if input = len(o.arrays[0].Values); input == 0 { // shapes alone
			input = model.Size(o.arrays[0].Shape)
		}
	}
	switch {
	case said == 0 && input == 0:
		return 0, fmt.Errorf("the model takes any number of tokens up to %d: give an input, or their number with --tokens N", m.Context)
	case said != 0 && input != 0 && said != input:
		return 0, fmt.Errorf("the input has %d tokens, but %d are asked for", input, said)
	}
	return max(said, input), nil
}

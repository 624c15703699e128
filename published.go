package provemodel

import (
	"errors"
	"fmt"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/hf"
	"github.com/prove-model/prove-model/hf/families"
)

// Tokens is the number of tokens of a language model's input, where For does not
// give them: the float model is opened for it. For Open.
func Tokens(n int) Option { return func(o *options) { o.tokens = n } }

// openPublished opens a folder in the Hugging Face layout, or a file of weights.
func openPublished(path string, o *options) (*graph.Graph, error) {
	m, err := hf.Open(path)
	if err != nil {
		return nil, err
	}
	tokens, err := o.tokensOf(m)
	if err != nil {
		m.Close()
		return nil, err
	}
	g, err := m.Graph(tokens)
	if err != nil {
		m.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return g, nil
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
		input = len(o.arrays[0].Values)
	}
	switch {
	case said == 0 && input == 0:
		return 0, fmt.Errorf("the model takes any number of tokens up to %d: give an input, or their number with --tokens N", m.Context)
	case said != 0 && input != 0 && said != input:
		return 0, fmt.Errorf("the input has %d tokens, but %d are asked for", input, said)
	}
	return max(said, input), nil
}

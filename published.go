package provemodel

import (
	"errors"
	"fmt"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/hf"
	"github.com/prove-model/prove-model/hf/families"
)

// Tokens is the most tokens that a text of a language model may have: a key is for all
// lengths up to it. Without it that is the model's context, or 1024 if that is less. The
// float model is opened for the tokens that For gives, or else for so many. For Open; an
// ONNX model takes it if the second axis of its inputs is all that it leaves open.
func Tokens(n int) Option { return func(o *options) { o.tokens = n } }

// usualContext is the most tokens that keys are for where nothing is said of it.
const usualContext = 1024

// openPublished opens a folder in the Hugging Face layout, or a file of weights. most is
// the most tokens that keys are for, 0 for a model of images.
func openPublished(path string, o *options) (g *graph.Graph, most int, err error) {
	m, err := hf.Open(path)
	if err != nil {
		return nil, 0, err
	}
	tokens, most, err := o.tokensOf(m)
	if err != nil {
		m.Close()
		return nil, 0, err
	}
	if g, err = m.Graph(tokens); err != nil {
		m.Close()
		return nil, 0, fmt.Errorf("%s: %w", path, err)
	}
	return g, most, nil
}

// tokensOf is the number of tokens that the options have for the float model, and the
// most that there may be: in so many words, as a dimension, or by an input.
func (o *options) tokensOf(m *hf.Model) (tokens, most int, err error) {
	said, input := o.tokens, 0
	for name, n := range o.dims {
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
	if len(o.arrays) > 0 {
		if input = len(o.arrays[0].Values); input == 0 { // a shape alone
			input = graph.Size(o.arrays[0].Shape)
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

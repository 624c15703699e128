package provemodel

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/prover/forward"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/verifier"
)

// Written is a text of which a language model wrote a part: each of its tokens is the
// one with the greatest logit, the first of several.
type Written = verifier.Written

// ErrNotCausal is wrapped by the error about a model in which later tokens change the
// logits of earlier ones, so that it cannot write a text token by token.
var ErrNotCausal = errors.New("the model is not causal: later tokens change its logits at earlier positions")

// errNotWriting is the error about a model that was opened for something else.
var errNotWriting = errors.New("the model was not opened to write a text (MaxTokens)")

// TextInput returns the input of a model that was opened with MaxTokens for a prompt
// and what follows it, at most as many tokens as it was opened for: what Circuit.Write
// has written, or, for calibration, any text.
func (m *Model) TextInput(prompt, tokens []int) (Input, error) {
	if m.language == nil || !m.language.Generates {
		return nil, errNotWriting
	}
	g := m.graph
	return textInput(prompt, tokens, len(tokens), model.Size(g.Inputs[0].Shape), model.Size(g.Inputs[1].Shape))
}

// textInput fills the ids of a pass with the last token, and has logits at as many of
// the positions before the tokens as asked for.
func textInput(prompt, tokens []int, at, length, positions int) (Input, error) {
	all := slices.Concat(prompt, tokens)
	if len(prompt) == 0 || len(tokens) > positions || len(prompt)+positions > length {
		return nil, fmt.Errorf("a prompt of %d tokens and %d after it: the model was opened for a prompt of 1 to %d and at most %d tokens",
			len(prompt), len(tokens), length-positions, positions)
	}
	in := Input{make([]float64, length), make([]float64, positions)}
	for i := range in[0] {
		in[0][i] = float64(all[min(i, len(all)-1)])
	}
	for i := range in[1] {
		in[1][i] = float64(len(prompt) - 1 + min(i, max(at, 1)-1))
	}
	return in, nil
}

// Write has the quantised model go on after a prompt: with the token that has the
// greatest logit, the first of several, until one that ends the text, or as many as the
// model was opened for (MaxTokens). each, unless nil, is told every token as soon as it
// is chosen. Keys and values of earlier tokens are kept, so that a token costs a row of
// every step. The input that Prove takes for the text is returned beside it.
func (c *Circuit) Write(ctx context.Context, prompt []int, each func(token int)) (*Written, Input, error) {
	if c.language == nil || !c.language.Generates {
		return nil, nil, errNotWriting
	}
	q := c.quantised
	length, most := model.Size(q.Graph.Tensors[q.Graph.Inputs[0]].Shape), model.Size(q.Graph.Tensors[q.Graph.Inputs[1]].Shape)
	in, err := textInput(prompt, nil, most, length, most)
	if err != nil {
		return nil, nil, err
	}
	ints, _, err := q.QuantiseInput(in)
	if err != nil {
		return nil, nil, err
	}
	w := &Written{Prompt: slices.Clone(prompt)}
	err = await(ctx, func() error {
		rows, err := forward.NewRows(ctx, q.Graph, q.Weights, ints, []int{1, 0})
		if err != nil {
			return err
		}
		for {
			token := verifier.Greatest(rows.Output(0))
			w.Tokens = append(w.Tokens, token)
			if each != nil {
				each(token)
			}
			w.Ended = slices.Contains(c.language.Ends, token)
			n := len(w.Tokens)
			if w.Ended || n == most {
				return nil
			}
			at := len(prompt) + n - 1
			if err := rows.Set(ctx, []int{at, n}, [][]int32{{int32(token)}, {int32(at)}}); err != nil {
				return err
			}
		}
	})
	if err != nil {
		return nil, nil, err
	}
	in, err = textInput(prompt, w.Tokens, len(w.Tokens), length, most)
	return w, in, err
}

// checkWritten holds the tokens of a run against its logits.
func (c *Circuit) checkWritten(wit *forward.Witness) error {
	if c.language == nil || !c.language.Generates {
		return nil
	}
	g := c.quantised.Graph
	_, err := verifier.WrittenOf(c.language, wit.Tensor(g.Inputs[0]), wit.Tensor(g.Inputs[1]), wit.Tensor(g.Outputs[0]))
	if err != nil {
		return fmt.Errorf("the input is not what the model writes, or %w: %v", ErrNotCausal, err)
	}
	return nil
}

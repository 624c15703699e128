package provemodel

import (
	"context"
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/quantise"
)

// Start returns the tokens that every text of an encoder–decoder's decoder begins with; nil for other models.
func (m *Model) Start() []int {
	if m.language == nil {
		return nil
	}
	return slices.Clone(m.language.Start)
}

// answers says that the model is an encoder–decoder that writes.
func (c *Circuit) answers() bool { return c.language != nil && c.language.Start != nil }

// answerInput returns the inputs of an encoder–decoder that reads a prompt and writes so many tokens, at most most in all: the
// decoder's are start and all of tokens but the last, or, while these are not known, as many others.
func answerInput(prompt, start, tokens []int, writes, most int) (Input, error) {
	n := len(start) - 1 + writes
	if len(prompt) == 0 || writes < 1 || n > most || len(tokens) > writes {
		return nil, fmt.Errorf("a prompt of %d tokens and %d for the decoder: the model was opened for 1 to %d of either", len(prompt), n, most)
	}
	decoder := slices.Concat(start, tokens)
	in := Input{make([]float64, len(prompt)), make([]float64, n)}
	for i, id := range prompt {
		in[0][i] = float64(id)
	}
	for i := range in[1] {
		in[1][i] = float64(decoder[min(i, len(decoder)-1)])
	}
	return in, nil
}

// answerSample is what a model is calibrated on that reads a text and writes it again, up to so many tokens of it.
func answerSample(text, start []int, most int) (Input, error) {
	n := max(1, min(len(text), most-len(start)+1))
	return answerInput(text, start, text[:min(n, len(text))], n, most)
}

// answering is a writer of the decoder's rows; the encoder has run as a whole.
type answering struct {
	c     *Circuit
	rows  *forward.Rows
	start int // tokens of the decoder before the first that is written
}

// answerAxes are those of the rows that change while a decoder writes, by input.
var answerAxes = []int{-1, 0}

// answer begins to write in a circuit with the inputs of a whole answer.
func (c *Circuit) answer(ctx context.Context, q *quantise.Model, ints [][]int32, prompt []int) (writer, error) {
	short, known, err := c.prompted(prompt)
	if err != nil {
		return nil, err
	}
	rows, err := forward.NewRowsAfter(ctx, short.Graph, known, q.Graph, q.Weights, ints, answerAxes, -1)
	if err != nil {
		return nil, err
	}
	w := &answering{c, rows, len(c.language.Start)}
	return w, w.put(ctx, w.start-1, c.language.Start[w.start-1]) // whose logits are the first that are asked for
}

func (w *answering) put(ctx context.Context, at, token int) error {
	return w.rows.Set(ctx, []int{0, at}, [][]int32{nil, {int32(token)}})
}

func (w *answering) set(ctx context.Context, token, _, n int) error {
	return w.put(ctx, w.start-1+n, token)
}

func (w *answering) logits() []int32 { return w.rows.Output(0) }

func (w *answering) pass(ctx context.Context, p *Pass, in Input) error {
	return p.leave(ctx, w.c, w.rows, in, func([][]int32) error { return nil }) // every row has been set
}

func (w *answering) keep(*keptText, []int) {}

func (w *answering) close() {}

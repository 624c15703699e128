package provemodel

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/verifier"
	"github.com/prove-model/prove-model/quantise"
)

// Sampling is a rule by which tokens are drawn from logits.
type Sampling = verifier.Sampling

// ErrOtherToken is wrapped by the error of Verify about a text that does not follow from
// the logits by the rule that was asked for: by default, that each token is the likeliest.
var ErrOtherToken = verifier.ErrOtherToken

// ErrNotCausal is wrapped by the error about a model in which later tokens change the
// logits of earlier ones, so that it cannot write a text token by token.
var ErrNotCausal = errors.New("the model is not causal: later tokens change its logits at earlier positions")

// errNotGenerating is the error about a model that was opened for something else.
var errNotGenerating = errors.New("the model was not opened to generate a text (MaxTokens)")

// TextInput returns the input of a model that was opened with MaxTokens for a prompt
// and what follows it, at most as many tokens as it was opened for: what Circuit.Generate
// has written, or, for calibration, any text.
func (m *Model) TextInput(prompt, tokens []int) (Input, error) {
	if m.language == nil || !m.language.Generates {
		return nil, errNotGenerating
	}
	n := model.Size(m.graph.Inputs[1].Shape)
	length, most := model.Size(m.graph.Inputs[0].Shape), 0
	if m.open.isText() {
		length, most = len(prompt)+len(tokens), m.open.most
	}
	return textInput(prompt, tokens, len(tokens), length, max(length, most), n)
}

// textInput returns the ids of a prompt and the tokens after it, padded with the last one to the
// given length, and the positions of the logits: those that choose the first at tokens, padded
// with the last of them. It is an error if the text could become longer than most.
func textInput(prompt, tokens []int, at, length, most, positions int) (Input, error) {
	all := slices.Concat(prompt, tokens)
	if len(prompt) == 0 || len(tokens) > positions || len(prompt)+positions > most || len(all) > length {
		return nil, fmt.Errorf("a prompt of %d tokens and %d after it: the model was opened for a prompt of 1 to %d and at most %d tokens",
			len(prompt), len(tokens), most-positions, positions)
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

// GenerateOptions say how tokens are chosen. The zero value, as nil, takes the likeliest.
type GenerateOptions struct {
	// Sampling, if not nil, is the rule by which tokens are drawn from the logits, in place of the likeliest. Prove and Verify are
	// told it too.
	Sampling *Sampling
	// MaxTokens is the most tokens that are written: at most, and for 0, as many as the model was opened for.
	MaxTokens int
	// Logits, if not nil, is told the logits that each token is chosen from, before Each is told the token. The slice is its own.
	Logits func(logits []float64)
	// Each, if not nil, is told every token as soon as it is chosen.
	Each func(token int)
	// Stop, if not nil, is asked after every token, and ends the text there if it says so.
	Stop func() bool
	// Pass, if not nil, is filled with what is computed, so that Prove (ProveOptions) need not run the circuit again, if the processor
	// has computed it.
	Pass *Pass
	// Device is where the text is written: on its first GPU, or on the processor, as for nil. The tokens are the same.
	Device *Device
	// Observer is warned where a GPU cannot write, so that the processor does, unless nil.
	Observer Observer
}

// Generate has the quantised model go on after a prompt: with the token that has the
// greatest logit, the first of several, until one that ends the text, or as many as the
// model was opened for (MaxTokens). Keys and values of earlier tokens are kept, so that a token costs a row of
// every step. The input that Prove takes for the text is returned beside it. opts may be nil.
func (c *Circuit) Generate(ctx context.Context, prompt []int, opts *GenerateOptions) (*verifier.Written, Input, error) {
	o := orDefault(opts)
	by := o.Sampling
	if by != nil {
		if err := by.Validate(); err != nil {
			return nil, nil, err
		}
	}
	if c.language == nil || !c.language.Generates {
		return nil, nil, errNotGenerating
	}
	g := c.quantised.Graph
	length, most := model.Size(g.Tensors[g.Inputs[0]].Shape), model.Size(g.Tensors[g.Inputs[1]].Shape)
	limit := most
	if o.MaxTokens != 0 {
		limit = o.MaxTokens
	}
	if limit < 1 || limit > most {
		return nil, nil, fmt.Errorf("MaxTokens is %d: want 1 to %d, which the model was opened for, or 0 for all", o.MaxTokens, most)
	}
	longest := length
	if c.free() {
		length, longest = len(prompt)+most, c.quantised.Circuit.Free[0].Bound
	}
	in, err := textInput(prompt, nil, most, length, longest, most)
	if err != nil {
		return nil, nil, err
	}
	q, err := c.sized(in)
	if err != nil {
		return nil, nil, err
	}
	ints, _, err := q.QuantiseInput(in)
	if err != nil {
		return nil, nil, err
	}
	out := &q.Graph.Tensors[q.Graph.Outputs[0]]
	w, logits := &verifier.Written{Prompt: slices.Clone(prompt), Sampling: by}, model.Size(out.Shape)
	watch := newWatch(o.Observer)
	defer watch.stop()
	var text writer
	err = await(ctx, func() (err error) {
		if text, err = c.write(ctx, o.Device, watch.warn, q, ints, prompt); err == nil && ctx.Err() != nil { // nobody waits for it
			text.close()
			err = ctx.Err()
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	defer text.close()
	for {
		row := text.logits()
		if width := logits / most; len(row) > width { // all of them, where rows could not be told apart
			row = row[len(w.Tokens)*width:][:width]
		}
		token := by.Choose(row, out.Frac, len(prompt)+len(w.Tokens))
		w.Tokens = append(w.Tokens, token)
		if o.Logits != nil {
			o.Logits(out.Reals(row))
		}
		if o.Each != nil {
			o.Each(token)
		}
		w.Ended = slices.Contains(c.language.Ends, token)
		n := len(w.Tokens)
		if w.Ended || n == limit || o.Stop != nil && o.Stop() {
			break
		}
		at := len(prompt) + n - 1
		err = await(ctx, func() error { return text.set(ctx, token, at, n) })
		if err != nil {
			return nil, nil, err
		}
	}
	if c.free() {
		length = len(prompt) + len(w.Tokens)
	}
	if in, err = textInput(prompt, w.Tokens, len(w.Tokens), length, longest, most); err == nil && o.Pass != nil {
		err = await(ctx, func() error { return text.pass(ctx, o.Pass, in) })
	}
	return w, in, err
}

// Pass is what Generate has computed of a run. The zero value has nothing. It is for one Generate and one Prove.
type Pass struct {
	circuit *Circuit
	in      Input
	wit     *forward.Witness
}

// take takes the run on an input from the rows that were computed for it, if that can be.
func (p *Pass) take(ctx context.Context, c *Circuit, rows *forward.Rows, in Input) error {
	if whole, _ := rows.Whole(); whole > 0 || !c.free() {
		return nil
	}
	q, err := c.sized(in)
	if err != nil {
		return err
	}
	known, _, err := q.QuantiseInput(in)
	if err != nil {
		return err
	}
	// The last token's row, and the positions behind that of the last logits.
	last := len(known[0]) - 1
	if err := rows.SetOne(ctx, 0, last, known[0][last:]); err != nil {
		return err
	}
	for i := 1; i < len(known[1]); i++ {
		if known[1][i] == known[1][i-1] {
			if err := rows.SetOne(ctx, 1, i, known[1][i:i+1]); err != nil {
				return err
			}
		}
	}
	wit, err := rows.Witness(ctx, q.Graph, q.Weights, known)
	if err != nil {
		return err
	}
	p.circuit, p.in, p.wit = c, in, wit
	return nil
}

// of returns the run of a circuit on an input, nil if it is not that; the pass is empty
// then.
func (p *Pass) of(c *Circuit, in Input) *forward.Witness {
	if p == nil || p.wit == nil {
		return nil
	}
	wit := p.wit
	if p.circuit != c || !slices.EqualFunc(p.in, in, slices.Equal[[]float64]) {
		wit.Close()
		wit = nil
	}
	*p = Pass{}
	return wit
}

// textAxes are those of the rows that change while a text is written, by input: a token,
// and the position whose logits are asked for.
var textAxes = []int{1, 0}

// begin computes the rows of a prompt in a circuit for a longer text, with these inputs:
// in one that is as long as the prompt, if there is one.
func (c *Circuit) begin(ctx context.Context, q *quantise.Model, ints [][]int32, prompt []int) (*forward.Rows, error) {
	if !c.free() {
		return forward.NewRows(ctx, q.Graph, q.Weights, ints, textAxes)
	}
	short, known, err := c.prompted(prompt, len(ints[1]))
	if err != nil {
		return nil, err
	}
	return forward.NewRowsAfter(ctx, short.Graph, known, q.Graph, q.Weights, ints, textAxes, 1)
}

// checkGenerated holds the tokens of a run against its logits.
func (c *Circuit) checkGenerated(wit *forward.Witness, by *Sampling) error {
	if c.language == nil || !c.language.Generates {
		return nil
	}
	g := c.quantised.Graph
	_, err := verifier.WrittenOf(c.language, by, wit.Tensor(g.Inputs[0]), wit.Tensor(g.Inputs[1]), wit.Tensor(g.Outputs[0]), g.Tensors[g.Outputs[0]].Frac)
	if err != nil {
		return fmt.Errorf("the input is not what the model writes, or %w: %v", ErrNotCausal, err)
	}
	return nil
}

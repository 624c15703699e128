package verifier

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof"
)

// Written is the text that a model generated, as a valid proof states it. Each of its
// tokens is the first one with the greatest logit after the prompt and the tokens before
// it. With Sampling it is the token that the rule draws from these logits.
type Written struct {
	Prompt, Tokens []int
	// Start has what the decoder's text begins with, of an encoder–decoder; nil for other models, whose text begins with the prompt.
	Start    []int
	Sampling *Sampling
	// Ended says that the last token is one that ends a text. If it is false, the prover
	// stopped there.
	Ended bool
}

// Before returns the tokens that those which the model wrote follow in one text.
func (w *Written) Before() []int {
	if w.Start != nil {
		return w.Start
	}
	return w.Prompt
}

// ErrOtherToken is wrapped, beside ErrInvalid, by the error for a token that is not the
// one that the rule chooses from the logits.
var ErrOtherToken = errors.New("the text does not follow from the logits")

var errNoLogits = fmt.Errorf("%w: it states the likeliest tokens and no logits, from which others could be drawn", ErrInvalid)

// WrittenIn checks the generated texts of a statement for a key, each by itself; none if the key is not one for
// generated text. t is the key's, and g the circuit of the proof. By is a rule for drawn tokens, or nil.
func WrittenIn(t *proof.Text, by *Sampling, g *model.Graph, inputs, outputs [][]int32) ([]*Written, error) {
	if t == nil || !t.Generates {
		return nil, nil
	}
	if len(g.Reveals) > 0 && by != nil {
		return nil, errNoLogits
	}
	all := make([]*Written, max(g.Texts, 1))
	for i := range all {
		ids, positions, out := model.OfText(inputs[0], i, len(all)), model.OfText(inputs[1], i, len(all)), model.OfText(outputs[0], i, len(all))
		if t.Start != nil && t.Decoder(g) == 0 { // it listens
			ids, positions = nil, ids
		}
		var err error
		if len(g.Reveals) > 0 {
			all[i], err = WrittenAs(t, ids, positions, out)
		} else {
			all[i], err = WrittenOf(t, by, ids, positions, out, g.Tensors[g.Outputs[0]].Frac)
		}
		if err != nil && g.Texts > 0 {
			err = &textError{i + 1, err}
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// textError is an error about one of several texts.
type textError struct {
	text int
	error
}

func (e *textError) Error() string {
	return fmt.Sprintf("%v: text %d: %s", ErrInvalid, e.text, strings.TrimPrefix(e.error.Error(), ErrInvalid.Error()+": "))
}

func (e *textError) Unwrap() error { return e.error }

// WrittenOf checks generated tokens against logits (docs/protocol.md, "Text that the model
// generates"): by a rule or, if by is nil, by the greatest logit. ids, positions and
// logits are the values of the statement; logits has those at each position, in units of
// 2^(−frac). Of an encoder–decoder positions are the decoder's tokens. Verify calls WrittenOf. Its error wraps ErrInvalid.
func WrittenOf(t *proof.Text, by *Sampling, ids, positions, logits []int32, frac int) (*Written, error) {
	n := len(positions)
	if n == 0 || len(logits)%n != 0 {
		return nil, fmt.Errorf("%w: %d logits at %d positions", ErrInvalid, len(logits), n)
	}
	if t.Suppresses() && by != nil {
		return nil, errSuppressed
	}
	width := len(logits) / n
	return written(t, by, ids, positions, func(from int, chosen []int) {
		if !t.Suppresses() {
			choose(by, logits[:len(chosen)*width], frac, from, chosen)
			return
		}
		for i := range chosen {
			chosen[i] = Permitted(t, logits[i*width:(i+1)*width], i == len(t.Start)-1)
		}
	})
}

var errSuppressed = fmt.Errorf("%w: its key has tokens that are not written, of which no rule for drawing says how", ErrInvalid)

// Permitted is the first index of the greatest of the logits of tokens that a text may have, as its first token or as a later one; −1 if
// there are none.
func Permitted(t *proof.Text, logits []int32, first bool) int {
	at := -1
	for i, x := range logits {
		if (at < 0 || x > logits[at]) && t.May(i, first) {
			at = i
		}
	}
	return at
}

// choose sets the tokens that a rule chooses from as many rows of logits, the first of them at a place of the text.
func choose(by *Sampling, logits []int32, frac, from int, chosen []int) {
	width := len(logits) / len(chosen)
	parallel.For(len(chosen), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			chosen[i] = by.Choose(logits[i*width:(i+1)*width], frac, from+i)
		}
	})
}

// greatest sets the tokens that the lists of the greatest logits begin with.
func greatest(lists []int32, chosen []int) {
	for i := range chosen {
		chosen[i] = int(lists[i*(len(lists)/len(chosen))])
	}
}

// WrittenAs is WrittenOf for a statement that has the indexes of the greatest logits at each position in
// place of these, the greatest first.
func WrittenAs(t *proof.Text, ids, positions, stated []int32) (*Written, error) {
	n := len(positions)
	if n == 0 || len(stated)%n != 0 {
		return nil, fmt.Errorf("%w: %d tokens at %d positions", ErrInvalid, len(stated), n)
	}
	width := len(stated) / n
	return written(t, nil, ids, positions, func(_ int, chosen []int) {
		if !t.Suppresses() {
			greatest(stated[:len(chosen)*width], chosen)
			return
		}
		for i := range chosen {
			row := stated[i*width : (i+1)*width]
			at := slices.IndexFunc(row, func(id int32) bool { return t.May(int(id), i == len(t.Start)-1) })
			if chosen[i] = -1; at >= 0 {
				chosen[i] = int(row[at])
			}
		}
	})
}

// written checks generated tokens, which choose sets to those that follow from the model's logits.
func written(t *proof.Text, by *Sampling, ids, positions []int32, choose func(from int, chosen []int)) (*Written, error) {
	if t.Start != nil {
		return answered(t, by, ids, positions, choose)
	}
	n := len(positions)
	from := int(positions[0]) + 1
	count := 1
	for count < n && positions[count] == positions[count-1]+1 {
		count++
	}
	for _, p := range positions[count:] {
		if p != positions[count-1] {
			return nil, fmt.Errorf("%w: logits at position %d do not follow those at %d", ErrInvalid, p, positions[count-1])
		}
	}
	if from < 1 || from+count > len(ids) {
		return nil, fmt.Errorf("%w: %d tokens written after %d, of %d in all", ErrInvalid, count, from, len(ids))
	}
	w := &Written{Prompt: tokens(ids[:from]), Tokens: tokens(ids[from : from+count]), Sampling: by}
	chosen := make([]int, count)
	choose(from, chosen)
	if err := w.check(t, chosen); err != nil {
		return nil, err
	}
	last := ids[from+count-1]
	for i, id := range ids[from+count:] {
		if id != last {
			return nil, fmt.Errorf("%w: token %d, after the text, is %d and not %d, its last", ErrInvalid, from+count+i, id, last)
		}
	}
	return w, nil
}

// check holds the tokens against those that follow from the model's logits.
func (w *Written) check(t *proof.Text, chosen []int) error {
	for i, id := range w.Tokens {
		if id != chosen[i] {
			how := "the model's"
			if w.Sampling != nil {
				how = "the one that is drawn"
			}
			return fmt.Errorf("%w: %w: token %d of the text is %d, and %s is %d", ErrInvalid, ErrOtherToken, i, id, how, chosen[i])
		}
		if w.Ended = slices.Contains(t.Ends, id); w.Ended && i < len(chosen)-1 {
			return fmt.Errorf("%w: the text goes on after token %d, %d, which ends it", ErrInvalid, i, id)
		}
	}
	return nil
}

// answered is written for an encoder–decoder. The decoder's tokens are what every text begins with and all that were written but the
// last, which follows from the last logits and is stated by these alone: so tokens and logits are as many.
func answered(t *proof.Text, by *Sampling, ids, decoder []int32, choose func(from int, chosen []int)) (*Written, error) {
	k := len(t.Start)
	if len(decoder) < k || !slices.Equal(tokens(decoder[:k]), t.Start) {
		return nil, fmt.Errorf("%w: the decoder's text does not begin with the key's %d tokens", ErrInvalid, k)
	}
	chosen := make([]int, len(decoder))
	choose(1, chosen) // the token behind each
	w := &Written{Prompt: tokens(ids), Tokens: tokens(decoder[k:]), Start: slices.Clone(t.Start), Sampling: by}
	w.Tokens = append(w.Tokens, chosen[len(chosen)-1])
	if i := slices.Index(chosen[k-1:], -1); i >= 0 {
		return nil, fmt.Errorf("%w: of the likeliest tokens that it states for token %d of the text the model may write none", ErrInvalid, i)
	}
	return w, w.check(t, chosen[k-1:])
}

func tokens(ids []int32) []int {
	out := make([]int, len(ids))
	for i, id := range ids {
		out[i] = int(id)
	}
	return out
}

// Greatest returns the index of the first entry with the greatest value.
func Greatest(v []int32) int {
	at := 0
	for i, x := range v {
		if x > v[at] {
			at = i
		}
	}
	return at
}

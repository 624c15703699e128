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

// Written is the text that a model generated, as a valid proof states it. Each of Tokens is the first index of the greatest
// logit that the model gives for the prompt and the tokens before it; with Sampling, the token that the rule draws from these
// logits. If the key has tokens that are never written, only the logits of the others count (proof.Text.May).
type Written struct {
	// Prompt is what the model was given, and Tokens what it wrote. An encoder–decoder reads Prompt with its encoder; it is
	// empty if the model listens to audio.
	Prompt, Tokens []int
	// Start has, for an encoder–decoder, the tokens that the decoder's text begins with; nil for other models, whose text begins
	// with the prompt.
	Start []int
	// Sampling is the rule that drew Tokens; nil: each is the likeliest.
	Sampling *Sampling
	// Ended says that the last token is one that ends a text (proof.Text.Ends). If it is false, the prover stopped there, and
	// the model might have gone on.
	Ended bool
}

// Before returns the tokens that stand before Tokens in one text: Start for an encoder–decoder, otherwise Prompt.
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

// WrittenIn checks the generated texts of a statement, each by itself, and returns them; it returns none if the key is not for
// generated text. t is the key's Text, g the circuit of the proof, and by the rule that draws tokens, or nil for the likeliest.
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
		if t.Start != nil && t.Decoder(g) == 0 { // the model listens to audio: its first input is the decoder's tokens
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

// textError is an error about one of several texts. Its message has the prefix of ErrInvalid once.
type textError struct {
	text int // counted from 1
	error
}

func (e *textError) Error() string {
	return fmt.Sprintf("%v: text %d: %s", ErrInvalid, e.text, strings.TrimPrefix(e.error.Error(), ErrInvalid.Error()+": "))
}

func (e *textError) Unwrap() error { return e.error }

// WrittenOf checks generated tokens against logits (docs/protocol.md, "Text that the model generates"), with the rule by or, if it is
// nil, with the greatest logit. ids, positions and logits are the values of the statement: all tokens; the positions of the tokens
// whose logits it has (for an encoder–decoder the decoder's tokens in their place); and one row of logits for each position, in
// units of 2^(−frac). Verify calls WrittenOf. Its error wraps ErrInvalid.
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

// Permitted returns the first index of the greatest logit among the tokens that the model may write (proof.Text.May), or −1 if it
// may write none. first says that the token is the first one that the model writes.
func Permitted(t *proof.Text, logits []int32, first bool) int {
	at := -1
	for i, x := range logits {
		if (at < 0 || x > logits[at]) && t.May(i, first) {
			at = i
		}
	}
	return at
}

// choose sets chosen[i] to the token that a rule chooses from row i of logits. logits has len(chosen) rows, and from is the place in
// the text of chosen[0].
func choose(by *Sampling, logits []int32, frac, from int, chosen []int) {
	width := len(logits) / len(chosen)
	parallel.For(len(chosen), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			chosen[i] = by.Choose(logits[i*width:(i+1)*width], frac, from+i)
		}
	})
}

// greatest sets chosen[i] to the first element of list i: the index of the greatest logit. lists has len(chosen) lists of one length.
func greatest(lists []int32, chosen []int) {
	for i := range chosen {
		chosen[i] = int(lists[i*(len(lists)/len(chosen))])
	}
}

// WrittenAs is WrittenOf for a statement that reveals, in place of logits, the indexes of the greatest logits at each position, the
// greatest first. stated has one list for each position.
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

// written checks the form of a generated text and its tokens. choose sets chosen[i] to the token that follows from the logits at
// positions[i], where from is the place of chosen[0] in the text.
//
// The positions must be consecutive from the prompt's last token on, and then repeat the last position; and ids must repeat
// the text's last token behind its end. So the positions say how long prompt and answer are, and the prover has no choice of what
// stands behind the end.
func written(t *proof.Text, by *Sampling, ids, positions []int32, choose func(from int, chosen []int)) (*Written, error) {
	if t.Start != nil {
		return answered(t, by, ids, positions, choose)
	}
	n := len(positions)
	from := int(positions[0]) + 1 // the length of the prompt
	count := 1                    // how many tokens were written
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

// check refuses a token that is not the one chosen from the logits before it, and a token that ends a text anywhere but last. It
// sets Ended.
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

// answered does for an encoder–decoder what written does for other models. The decoder's tokens in a statement are Text.Start and
// then all tokens that were written but the last. The last row of logits chooses the last token, which appears nowhere else in the
// statement. So there are as many rows of logits as decoder tokens.
func answered(t *proof.Text, by *Sampling, ids, decoder []int32, choose func(from int, chosen []int)) (*Written, error) {
	k := len(t.Start)
	if len(decoder) < k || !slices.Equal(tokens(decoder[:k]), t.Start) {
		return nil, fmt.Errorf("%w: the decoder's text does not begin with the key's %d tokens", ErrInvalid, k)
	}
	chosen := make([]int, len(decoder))
	choose(1, chosen) // chosen[i] is the token behind decoder[i]
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

// Greatest returns the index of the first entry with the greatest value, or 0 if v is empty.
func Greatest(v []int32) int {
	at := 0
	for i, x := range v {
		if x > v[at] {
			at = i
		}
	}
	return at
}

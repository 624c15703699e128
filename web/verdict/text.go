package verdict

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/hf/tokenizer"
	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/statement"
	"github.com/prove-model/prove-model/prover/verifier"
)

// Text is what a proof states about a text.
type Text struct {
	Tokenizer    string // SHA-256 of the key's tokenizer in hexadecimal digits; empty if the key names none
	PromptTokens []int
	Generated    bool     // the key says that the model wrote the tokens after the prompt
	Ended        bool     // the last of these ends the text
	Tokens       []Choice // the tokens that the model wrote
	Words        *Words   // the text as words; nil if the tokenizer is not given
}

// Words are a text as words, which the tokenizer makes of the tokens.
type Words struct {
	Prompt, Answer string
	Hidden         int // how many tokens of the prompt stand for no text
}

// Choice is a token that the model wrote, with its proved logit. Other is the token with the greatest logit
// among the other tokens, or nil in a vocabulary of one token. A proof may state which tokens have the
// greatest logits in place of the logits; then Logit and Other are nil.
type Choice struct {
	ID    int
	Logit *float64
	Piece *string // the token's text; nil without a tokenizer
	Other *Choice
}

// errTokenizer is wrapped by the error for a tokenizer that is not the key's.
var errTokenizer = errors.New("the tokenizer is not the one of the key")

// textsOf is textOf for a proof of several texts: it returns what the proof states about each of them.
func textsOf(key *proof.Key, r *verifier.Result, outputs []statement.Tensor, drawn *verifier.Sampling, file []byte) ([]*Text, error) {
	list := make([]*Text, r.Circuit.Texts)
	t, err := open(key.Text(), file)
	for i := range list {
		if err != nil {
			return nil, err
		}
		one := *r
		one.Inputs = seq.Map(r.Inputs, func(x []int32) []int32 { return model.OfText(x, i, len(list)) })
		if r.Texts != nil {
			one.Written = r.Texts[i]
		}
		own := slices.Clone(outputs)
		for k, o := range outputs {
			n := len(o.Values) / len(list)
			own[k].Values = o.Values[i*n:][:n]
		}
		list[i], err = textWith(key.Text(), &one, own, drawn, t)
	}
	return list, err
}

// textOf returns what a proof states about its text, or nil if the key is not a language model's. outputs are those of the proof, and drawn
// is the rule by which tokens must have been drawn, or nil. file is the tokenizer's file, which must be that of the key, or nil.
func textOf(key *proof.Key, r *verifier.Result, outputs []statement.Tensor, drawn *verifier.Sampling, file []byte) (*Text, error) {
	text := key.Text()
	switch {
	case text == nil && (drawn != nil || file != nil):
		return nil, fmt.Errorf("%w: its key is not a language model's", verifier.ErrInvalid)
	case text == nil:
		return nil, nil
	}
	t, err := open(text, file)
	if err != nil {
		return nil, err
	}
	return textWith(text, r, outputs, drawn, t)
}

// textWith is textOf with an opened tokenizer t, which is nil if none is given.
func textWith(text *proof.Text, r *verifier.Result, outputs []statement.Tensor, drawn *verifier.Sampling, t *tokenizer.Tokenizer) (*Text, error) {
	if r.Written == nil && drawn != nil {
		return nil, fmt.Errorf("%w: its key does not say that the model wrote anything: it maps tokens to logits", verifier.ErrInvalid)
	}
	out := &Text{Generated: r.Written != nil}
	if text.HasTokenizer() {
		out.Tokenizer = hex.EncodeToString(text.Tokenizer[:])
	}
	var tokens []int
	var begins []int
	if w := r.Written; w != nil {
		out.PromptTokens, tokens, out.Ended, begins = w.Prompt, w.Tokens, w.Ended, w.Before()
	} else {
		for _, id := range r.Inputs[0] {
			out.PromptTokens = append(out.PromptTokens, int(id))
		}
	}
	if t != nil {
		before, err := t.Decode(out.PromptTokens)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errTokenizer, err) // the proof itself is valid
		}
		answer, err := t.After(begins, tokens)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errTokenizer, err)
		}
		out.Words = &Words{before, answer, len(t.Hidden(out.PromptTokens))}
	}
	if r.Written != nil {
		out.Tokens = choices(r, outputs[0].Values, t)
	}
	return out, nil
}

// open reads a tokenizer.json or a SentencePiece model, which must be the key's tokenizer. It returns nil if file is nil.
func open(text *proof.Text, file []byte) (*tokenizer.Tokenizer, error) {
	if file == nil {
		return nil, nil
	}
	t, err := tokenizer.ParseJSON(file)
	if err != nil {
		var other error
		if t, other = tokenizer.ParseSentencePiece(file); other != nil {
			return nil, fmt.Errorf("%w: %w", errTokenizer, err)
		}
	}
	if digest := t.Digest(); digest != text.Tokenizer {
		return nil, fmt.Errorf("%w: the key is for the file with the SHA-256 %x, and the one that is given has %x", errTokenizer, text.Tokenizer, digest)
	}
	return t, nil
}

// choices are the tokens that the model wrote. logits are the output, one row of the vocabulary's size for each position.
func choices(r *verifier.Result, logits []float64, t *tokenizer.Tokenizer) []Choice {
	one := func(id int, row []float64) Choice {
		c := Choice{ID: id}
		if row != nil {
			c.Logit = &row[id]
		}
		if t != nil {
			if piece, ok := t.Token(id); ok {
				if text, err := t.After([]int{id}, []int{id}); err == nil && text != "" {
					piece = text
				}
				c.Piece = &piece
			}
		}
		return c
	}
	out := make([]Choice, len(r.Written.Tokens))
	if len(r.Circuit.Reveals) > 0 {
		for i, id := range r.Written.Tokens {
			out[i] = one(id, nil)
		}
		return out
	}
	rows, first := len(r.Inputs[1]), 0          // there is a row for each position; first is the row that chose the first written token
	if start := r.Written.Start; start != nil { // an encoder–decoder has a row for each token of the decoder
		first = len(start) - 1
		rows = first + len(r.Written.Tokens)
	}
	width := len(logits) / rows
	for i, id := range r.Written.Tokens {
		row := logits[(first+i)*width:][:width]
		out[i] = one(id, row)
		if other := greatestBeside(row, id); other >= 0 {
			next := one(other, row)
			out[i].Other = &next
		}
	}
	return out
}

// greatestBeside returns the index of the greatest entry of a row other than entry but, or −1 if there is no other.
func greatestBeside(row []float64, but int) int {
	best := -1
	for k, x := range row {
		if k != but && (best < 0 || x > row[best]) {
			best = k
		}
	}
	return best
}

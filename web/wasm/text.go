//go:build js && wasm

package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"syscall/js"

	"github.com/prove-model/prove-model/hf/tokenizer"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/statement"
	"github.com/prove-model/prove-model/prover/verifier"
)

// errTokenizer is wrapped by the error for a tokenizer that is not the key's.
var errTokenizer = errors.New("the tokenizer is not the one of the key")

// sampling reads the rule by which tokens were drawn; nil without one.
func sampling(v js.Value) (*verifier.Sampling, error) {
	if v.IsNull() {
		return nil, nil
	}
	seed, err := strconv.ParseInt(v.Get("seed").String(), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%w: the seed %q: want a whole number", errOption, v.Get("seed").String())
	}
	s := &verifier.Sampling{Seed: seed, Temperature: v.Get("temperature").Float(), TopK: v.Get("topK").Int(), TopP: v.Get("topP").Float()}
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", errOption, err)
	}
	return s, nil
}

// textOf is what a proof states of a text, null if its key is not a language model's. With
// the tokenizer, which must be the key's, it has the text in words.
func textOf(key *proof.Key, r *verifier.Result, outputs []statement.Tensor, drawn *verifier.Sampling, file js.Value) (any, error) {
	text := key.Text
	switch {
	case text == nil && (drawn != nil || !file.IsNull()):
		return nil, fmt.Errorf("%w: its key is not a language model's", verifier.ErrInvalid)
	case text == nil:
		return nil, nil
	case r.Written == nil && drawn != nil:
		return nil, fmt.Errorf("%w: its key does not say that the model wrote anything: it maps tokens to logits", verifier.ErrInvalid)
	}
	out := map[string]any{"tokenizer": hex.EncodeToString(text.Tokenizer[:]), "written": r.Written != nil, "prompt": nil, "answer": nil, "tokens": []any{}}
	if !text.HasTokenizer() {
		out["tokenizer"] = nil
	}
	var prompt, tokens []int
	if w := r.Written; w != nil {
		prompt, tokens = w.Prompt, w.Tokens
		out["ended"] = w.Ended
	} else {
		for _, id := range r.Inputs[0] {
			prompt = append(prompt, int(id))
		}
	}
	out["promptTokens"] = numbers(prompt)
	t, err := open(text, file)
	if err != nil {
		return nil, err
	}
	if t != nil {
		before, err := t.Decode(prompt)
		if err != nil {
			return nil, err
		}
		answer, err := t.After(prompt, tokens)
		if err != nil {
			return nil, err
		}
		out["prompt"], out["answer"], out["hidden"] = before, answer, len(t.Hidden(prompt))
	}
	if r.Written != nil {
		out["tokens"] = choices(r, outputs[0].Values, t)
	}
	return out, nil
}

// open reads the tokenizer, of either kind of file; nil if none is given.
func open(text *proof.Text, file js.Value) (*tokenizer.Tokenizer, error) {
	if file.IsNull() {
		return nil, nil
	}
	data := content(file)
	t, err := tokenizer.ParseJSON(data)
	if err != nil {
		var other error
		if t, other = tokenizer.ParseSentencePiece(data); other != nil {
			return nil, fmt.Errorf("%w: %w", errTokenizer, err)
		}
	}
	if digest := t.Digest(); digest != text.Tokenizer {
		return nil, fmt.Errorf("%w: the key is for the file with the SHA-256 %x, and the one that is given has %x", errTokenizer, text.Tokenizer, digest)
	}
	return t, nil
}

// choices are the tokens that were written, each with its proved logit and the token that had
// the greatest one beside it: {id, logit, piece, other: {id, logit, piece}}. Pieces are the
// text of a token, null without a tokenizer.
func choices(r *verifier.Result, logits []float64, t *tokenizer.Tokenizer) []any {
	width := len(logits) / len(r.Inputs[1]) // a row for each position
	one := func(id int, row []float64) map[string]any {
		c := map[string]any{"id": id, "logit": row[id], "piece": nil}
		if t != nil {
			if piece, ok := t.Token(id); ok {
				if text, err := t.After([]int{id}, []int{id}); err == nil && text != "" {
					piece = text
				}
				c["piece"] = piece
			}
		}
		return c
	}
	out := make([]any, len(r.Written.Tokens))
	for i, id := range r.Written.Tokens {
		row := logits[i*width : (i+1)*width]
		other := -1
		for k, x := range row {
			if k != id && (other < 0 || x > row[other]) {
				other = k
			}
		}
		c := one(id, row)
		if c["other"] = nil; other >= 0 {
			c["other"] = one(other, row)
		}
		out[i] = c
	}
	return out
}

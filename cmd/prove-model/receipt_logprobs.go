package main

import (
	"math"
	"slices"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/internal/serve/receipt"
)

// weighed are the logprobs of an answer: Content for /v1/chat/completions, Values and Top for /v1/completions.
type weighed struct {
	Content []struct {
		Logprob float64 `json:"logprob"`
		Top     []struct {
			Logprob float64 `json:"logprob"`
		} `json:"top_logprobs"`
	} `json:"content"`
	Values []float64            `json:"token_logprobs"`
	Top    []map[string]float64 `json:"top_logprobs"`
}

// hold computes the logprobs from the logits that the proof states, and compares them.
func (w *weighed) hold(s *provemodel.Statement) error {
	tokens := s.Generated.Tokens
	logits := s.Outputs[0]
	if len(s.Reveals) > 0 || len(logits.Shape) == 0 {
		return notWhat("the answer has logprobs, and the proof states no logits")
	}
	if w.Content != nil && w.Values != nil {
		return notWhat("the answer has logprobs of both kinds, a conversation's and a text's")
	}
	if len(w.Content)+len(w.Values) != len(tokens) || len(w.Top) != len(w.Values) {
		return notWhat("the answer has logprobs of %d tokens, and the proof is about %d", len(w.Content)+len(w.Values), len(tokens))
	}
	size := logits.Shape[len(logits.Shape)-1]
	for i, token := range tokens {
		all := receipt.Logprobs(logits.Values[i*size:][:size])
		var holds bool
		if w.Content != nil {
			top := w.Content[i].Top
			best := receipt.Likeliest(all, len(top))
			holds = len(best) == len(top) && sameLogprob(w.Content[i].Logprob, all[token])
			for k := range best {
				holds = holds && sameLogprob(top[k].Logprob, all[best[k]])
			}
		} else {
			holds = sameLogprob(w.Values[i], all[token])
			best := receipt.Likeliest(all, receipt.MostTop)
			for _, v := range w.Top[i] { // by the token's text, which two tokens may share
				holds = holds && slices.ContainsFunc(best, func(t int) bool { return sameLogprob(v, all[t]) })
			}
		}
		if !holds {
			return notWhat("the answer has other logprobs for its token %d than follow from the proof's logits", i+1)
		}
	}
	return nil
}

// sameLogprob says whether two logprobs are equal up to the rounding of programs that may have read the answer and
// written it again.
func sameLogprob(got, want float64) bool {
	return math.Abs(got-want) <= 1e-9*(1+math.Abs(want))
}

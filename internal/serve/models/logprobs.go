package models

import (
	"github.com/prove-model/prove-model/internal/serve/receipt"
)

// Logprob is a token with the logarithm of its probability: log Softmax of the logits, without the temperature and
// limits of a Sampling.
type Logprob struct {
	Token   int
	Logprob float64
}

// Weighed is a token that was written, and the likeliest tokens in its place, the likeliest first.
type Weighed struct {
	Logprob
	Top []Logprob
}

// scale collects the logprobs of the tokens that are written.
type scale struct {
	top    int       // how many of the likeliest tokens are told with each
	logits []float64 // the logits that the next token is chosen from
	found  []Weighed // tokens since the last call of take
}

// weigh adds a token. s.logits has the logits that it was chosen from.
func (s *scale) weigh(token int) {
	all := receipt.Logprobs(s.logits)
	w := Weighed{Logprob: Logprob{token, all[token]}}
	for _, t := range receipt.Likeliest(all, s.top) {
		w.Top = append(w.Top, Logprob{t, all[t]})
	}
	s.found = append(s.found, w)
}

// take returns the tokens that were added since its last call.
func (s *scale) take() []Weighed {
	if s == nil {
		return nil
	}
	out := s.found
	s.found = nil
	return out
}

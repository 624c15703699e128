package models

import (
	"github.com/prove-model/prove-model/internal/serve/receipt"
)

// Logprob is how likely the model held a token: the natural logarithm of what Softmax makes of its logits, whatever rule draws from them.
type Logprob struct {
	Token   int
	Logprob float64
}

// Weighed is a token that was written, and the likeliest ones that could have been in its place, the likeliest first.
type Weighed struct {
	Logprob
	Top []Logprob
}

// scale collects what is asked for of the tokens that are written.
type scale struct {
	top    int
	logits []float64 // that the next token is chosen from
	found  []Weighed // that no part of the answer has had
}

// weigh notes a token. Its logits have been told.
func (s *scale) weigh(token int) {
	all := receipt.Logprobs(s.logits)
	w := Weighed{Logprob: Logprob{token, all[token]}}
	for _, t := range receipt.Likeliest(all, s.top) {
		w.Top = append(w.Top, Logprob{t, all[t]})
	}
	s.found = append(s.found, w)
}

// take returns what was not taken yet.
func (s *scale) take() []Weighed {
	if s == nil {
		return nil
	}
	out := s.found
	s.found = nil
	return out
}

package receipt

import (
	"slices"

	"github.com/prove-model/prove-model/internal/elementary"
	"github.com/prove-model/prove-model/internal/seq"
)

// The most of the likeliest tokens that a request may ask for, in a conversation and in /v1/completions, as in OpenAI's API.
const (
	MostTopChat = 20
	MostTop     = 5
)

// LeastLogprob is the least logprob that is told; it also stands for the logarithm of 0, which JSON cannot write.
// OpenAI's API uses the same number.
const LeastLogprob = -9999

// Logprobs returns the logarithms of the probabilities that logits give, log Softmax. The result has the same bits on every
// machine, so that a verifier computes exactly what the server did.
func Logprobs(logits []float64) []float64 {
	most, sum := slices.Max(logits), 0.0
	for _, l := range logits {
		sum += elementary.Exp(l - most)
	}
	all := elementary.Log(sum)
	return seq.Map(logits, func(l float64) float64 { return max(l-most-all, LeastLogprob) })
}

// Likeliest returns the n tokens with the greatest logprobs, the greatest first; of equal ones the one with the lower
// number comes first.
func Likeliest(logprobs []float64, n int) []int {
	var out []int // sorted by insertion, which is cheap for small n
	for token, l := range logprobs {
		if len(out) == n && (n == 0 || !(l > logprobs[out[n-1]])) {
			continue
		}
		at := len(out)
		for at > 0 && l > logprobs[out[at-1]] {
			at--
		}
		if out = slices.Insert(out, at, token); len(out) > n {
			out = out[:n]
		}
	}
	return out
}

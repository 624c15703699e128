package serve

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/prove-model/prove-model/internal/serve/models"
)

// tokenLogprob is a token with its logprob, in an answer of /v1/chat/completions.
type tokenLogprob struct {
	Token   string  `json:"token"`
	Logprob float64 `json:"logprob"`
	Bytes   []int   `json:"bytes"` // nil if the token has a part of a character only
}

// weighedToken is a token of the answer, with the likeliest alternatives.
type weighedToken struct {
	tokenLogprob
	Top []tokenLogprob `json:"top_logprobs"`
}

// chatLogprobs returns the member "logprobs" of an answer of /v1/chat/completions, or of a part of one; nil if the
// request asks for none.
func chatLogprobs(q *writing, tokens []models.Weighed) any {
	if q.logprobs == nil {
		return nil
	}
	named := func(l models.Logprob) tokenLogprob {
		t := tokenLogprob{Token: q.textOf(l.Token), Logprob: l.Logprob}
		if !strings.Contains(t.Token, "\uFFFD") {
			for _, b := range []byte(t.Token) {
				t.Bytes = append(t.Bytes, int(b))
			}
		}
		return t
	}
	content := make([]weighedToken, len(tokens))
	for i, w := range tokens {
		content[i] = weighedToken{named(w.Logprob), make([]tokenLogprob, len(w.Top))}
		for k, t := range w.Top {
			content[i].Top[k] = named(t)
		}
	}
	return map[string]any{"content": content, "refusal": nil}
}

// textLogprobs returns the member "logprobs" of an answer of /v1/completions, or of a part of one; nil if the request
// asks for none. before is the number of characters of the answer before this part.
func textLogprobs(q *writing, tokens []models.Weighed, before int) any {
	if q.logprobs == nil {
		return nil
	}
	out := struct {
		Tokens  []string             `json:"tokens"`
		Values  []float64            `json:"token_logprobs"`
		Top     []map[string]float64 `json:"top_logprobs"`
		Offsets []int                `json:"text_offset"`
	}{[]string{}, []float64{}, []map[string]float64{}, []int{}}
	for _, w := range tokens {
		text, top := q.textOf(w.Token), map[string]float64{}
		for _, t := range w.Top {
			top[q.textOf(t.Token)] = t.Logprob
		}
		out.Tokens, out.Values, out.Top, out.Offsets = append(out.Tokens, text), append(out.Values, w.Logprob.Logprob), append(out.Top, top), append(out.Offsets, before)
		before += utf8.RuneCountInString(text)
	}
	return out
}

// textOf returns the text of a token of the answer.
func (q *writing) textOf(token int) string {
	return q.model.TokenText(q.prompt[len(q.prompt)-1:], token)
}

// asksLogprobs sets how many of the likeliest tokens are told with each token of the answer. param is the member of the
// request that says so.
func (q *writing) asksLogprobs(param string, top, most int) error {
	if top < 0 || top > most {
		return bad(param, "invalid_value", fmt.Errorf("%d of the likeliest tokens are asked for: 0 to %d", top, most))
	}
	q.logprobs = &top
	return nil
}

package serve

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/prove-model/prove-model/internal/serve/models"
)

// tokenLogprob is a token in the logprobs of a conversation.
type tokenLogprob struct {
	Token   string  `json:"token"`
	Logprob float64 `json:"logprob"`
	Bytes   []int   `json:"bytes"` // nil for a token that is a part of a character
}

// weighedToken is one that was written.
type weighedToken struct {
	tokenLogprob
	Top []tokenLogprob `json:"top_logprobs"`
}

// chatLogprobs are the logprobs of a conversation's answer, or of a part of it; nil if none are asked for.
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

// textLogprobs are those of /v1/completions. before is how many characters the answer has before them.
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

// textOf is the text of a token of the answer.
func (q *writing) textOf(token int) string {
	return q.model.TokenText(q.prompt[len(q.prompt)-1:], token)
}

// asksLogprobs sets how many of the likeliest tokens an answer tells.
func (q *writing) asksLogprobs(param string, top, most int) error {
	if top < 0 || top > most {
		return bad(param, "invalid_value", fmt.Errorf("%d of the likeliest tokens are asked for: 0 to %d", top, most))
	}
	q.logprobs = &top
	return nil
}

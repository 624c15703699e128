package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	provemodel "github.com/prove-model/prove-model"
)

// weighedAnswer is an answer, or a part of one, with logprobs of either form.
type weighedAnswer struct {
	answerBody
	Choices []struct {
		Text    string
		Message struct{ Content string }
		Delta   struct{ Content string }
		Weighed *struct {
			Content []weighedToken
			Tokens  []string
			Values  []float64            `json:"token_logprobs"`
			Top     []map[string]float64 `json:"top_logprobs"`
			Offsets []int                `json:"text_offset"`
		} `json:"logprobs"`
	}
}

// softmaxed are the logprobs of a row of what a proof states.
func softmaxed(s *provemodel.Statement, row int) []float64 {
	size := s.Outputs[0].Shape[len(s.Outputs[0].Shape)-1]
	logits := s.Outputs[0].Values[row*size:][:size]
	sum := 0.0
	for _, l := range logits {
		sum += math.Exp(l)
	}
	out := make([]float64, size)
	for i, l := range logits {
		out[i] = l - math.Log(sum)
	}
	return out
}

// Logprobs follow from the logits that the proof states then: of the likeliest tokens and of drawn ones, also those of a stop.
func TestLogprobs(t *testing.T) {
	r := start(t, true, Options{Prove: 1})
	for _, params := range []string{`,"top_logprobs":3`, `,"top_logprobs":3,"seed":11,"temperature":3`, `,"top_logprobs":3,"stop":" on"`} {
		status, _, data := r.do("POST", "/v1/chat/completions", fmt.Sprintf(question, `,"logprobs":true`+params))
		var a weighedAnswer
		if err := json.Unmarshal(data, &a); status != http.StatusOK || err != nil {
			t.Fatalf("status %d, %v: %s", status, err, data)
		}
		s, _ := r.verified(&a.answerBody)
		content := a.Choices[0].Weighed.Content
		if len(content) != len(s.Generated.Tokens) {
			t.Fatalf("%s: logprobs of %d tokens, and there are %d", params, len(content), len(s.Generated.Tokens))
		}
		text := ""
		for i, c := range content {
			all := softmaxed(s, i)
			best := slices.Clone(all)
			slices.Sort(best)
			if math.Abs(c.Logprob-all[s.Generated.Tokens[i]]) > 1e-9 || len(c.Top) != 3 {
				t.Errorf("%s: token %d: %+v", params, i, c)
			}
			for k, top := range c.Top {
				if math.Abs(top.Logprob-best[len(best)-1-k]) > 1e-9 {
					t.Errorf("%s: token %d: %+v", params, i, c)
				}
			}
			text += c.Token
			if len(c.Bytes) != len(c.Token) {
				t.Errorf("%s: token %q has the bytes %v", params, c.Token, c.Bytes)
			}
		}
		if !strings.HasPrefix(text, a.Choices[0].Message.Content) {
			t.Errorf("%s: the tokens say %q", params, text)
		}
	}
	// Without logprobs the proof states tokens alone, and is another one.
	plain := r.ask("/v1/chat/completions", fmt.Sprintf(question, ""))
	asked := r.ask("/v1/chat/completions", fmt.Sprintf(question, `,"logprobs":true`))
	if s, _ := r.verified(plain); len(s.Reveals) == 0 || plain.Proof.ID == asked.Proof.ID {
		t.Error("logits that nobody has asked for")
	}
}

// A stream has the same logprobs, each token in the part that has its text, or in a later one.
func TestLogprobsStream(t *testing.T) {
	r := start(t, false, Options{})
	read := func(stream string) (text string, tokens []string, values []float64, offsets []int) {
		_, _, data := r.do("POST", "/v1/completions", `{"model":"story","prompt":"The capital of France is","logprobs":2,"stop":["Seine"]`+stream+`}`)
		parts := []string{string(data)}
		if stream != "" {
			_, parts = eventsOf(t, bytes.NewReader(data))
			parts = parts[:len(parts)-1]
		}
		for _, part := range parts {
			var a weighedAnswer
			if err := json.Unmarshal([]byte(part), &a); err != nil || len(a.Choices) != 1 || a.Choices[0].Weighed == nil {
				t.Fatalf("%v: %s", err, part)
			}
			w := a.Choices[0].Weighed
			for i, top := range w.Top {
				if len(top) != 2 || slices.Max(slices.Collect(maps.Values(top))) < w.Values[i] {
					t.Errorf("%v beside %v", top, w.Values[i])
				}
			}
			text += a.Choices[0].Text
			tokens, values, offsets = append(tokens, w.Tokens...), append(values, w.Values...), append(offsets, w.Offsets...)
		}
		return text, tokens, values, offsets
	}
	text, tokens, values, offsets := read("")
	if text != " Paris. It lies on the " || strings.Join(tokens, "") != text+"Seine" || offsets[1] != len(tokens[0]) {
		t.Errorf("%q, %q, %v", text, tokens, offsets)
	}
	streamed, parts, streamedValues, _ := read(`,"stream":true`)
	if streamed != text || !slices.Equal(parts, tokens) || !slices.Equal(values, streamedValues) {
		t.Errorf("%q and %q", parts, tokens)
	}
}

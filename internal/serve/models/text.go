package models

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/hf/chat"
	"github.com/prove-model/prove-model/hf/tokenizer"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
)

// ErrTooLong is wrapped by the error about a prompt that has too many tokens.
var ErrTooLong = errors.New("the prompt is too long")

// Encode returns the tokens of a prompt.
func (m *Model) Encode(text string) ([]int, error) {
	if m.Tokenizer == nil {
		return nil, errors.New("the model comes without a tokenizer: give the prompt as a list of tokens")
	}
	return m.Tokenizer.Encode(text)
}

// TokenText returns the text of a token that follows the tokens `before`; without a tokenizer, its number.
func (m *Model) TokenText(before []int, id int) string {
	if m.Tokenizer == nil {
		return strconv.Itoa(id)
	}
	if text, err := m.Tokenizer.After(before, []int{id}); err == nil && text != "" {
		return text
	}
	text, _ := m.Tokenizer.Token(id) // a token without text, such as the one that ends an answer
	return text
}

// EncodeChat returns the tokens of a conversation, up to where the model's answer begins.
func (m *Model) EncodeChat(messages []chat.Message) (_ []int, err error) {
	defer must.Catch(&err)
	if m.Tokenizer == nil || m.Template == nil {
		return nil, errors.New("the model comes without a chat template: /v1/completions goes on after any text")
	}
	text := must.Get(m.Template.Render(messages, true))
	return m.Tokenizer.EncodeChat(text)
}

// CheckPrompt returns an error if the tokens are not a prompt that the model takes.
func (m *Model) CheckPrompt(ids []int) error {
	if len(ids) == 0 {
		return errors.New("the prompt has no tokens")
	}
	if len(ids) > m.MaxPrompt {
		return fmt.Errorf("%w: it has %d tokens, and the model's key is for at most %d, and %d after them", ErrTooLong, len(ids), m.MaxPrompt, m.MaxTokens)
	}
	g := m.job.Model.Graph()
	bound := g.Rows(g.Inputs[0].Name)
	if at := slices.IndexFunc(ids, func(id int) bool { return id < 0 || id >= bound }); at >= 0 {
		return fmt.Errorf("token %d of the prompt is %d: the model's are 0 to %d", at, ids[at], bound-1)
	}
	return nil
}

// Finish says why an answer ends.
type Finish string

// A text ends where the model, or a text that was asked for, ends it, or when it is long enough.
const (
	Stopped Finish = "stop"
	Cut     Finish = "length"
)

// Writing is a request to a language model.
type Writing struct {
	Prompt    []int
	MaxTokens int                  // 1 to the model's MaxTokens
	Sampling  *provemodel.Sampling // nil: each token is the likeliest
	Stop      []string             // texts that end the answer, and are not in it
	Logprobs  *int                 // how many of the likeliest tokens are told with each written token; nil: no logprobs at all
	// Each is called with the parts of the answer, and with the tokens since the previous part if Logprobs is not nil.
	Each func(text string, tokens []Weighed)
}

// Written is what a language model wrote.
type Written struct {
	Tokens []int  // all tokens, those of a stop included
	Text   string // all parts together; "" without a tokenizer
	Finish Finish
	Rest   []Weighed // tokens in no part: those of a stop, or all without a tokenizer
}

// Write has the model continue a prompt, which CheckPrompt must have accepted.
func (m *Model) Write(ctx context.Context, w *Writing) (_ *Written, err error) {
	defer must.Catch(&err)
	out := &Written{Finish: Cut}
	var stream *tokenizer.Stream
	if m.Tokenizer != nil {
		stream = m.Tokenizer.Stream(w.Prompt)
	}
	var text strings.Builder
	var weighed *scale
	cutter := &job.Cutter{Stops: w.Stop, Emit: func(s string) {
		text.WriteString(s)
		w.Each(s, weighed.take())
	}}
	opts := &provemodel.GenerateOptions{
		Sampling: w.Sampling, MaxTokens: w.MaxTokens, Stop: func() bool { return cutter.Stopped }, Device: m.opts.Prove.Device, Observer: m.opts.Prove.Observer,
	}
	if w.Logprobs != nil {
		weighed = &scale{top: *w.Logprobs}
		opts.Logits = func(logits []float64) { weighed.logits = logits }
	}
	opts.Each = func(token int) {
		if weighed != nil {
			weighed.weigh(token)
		}
		if stream != nil {
			cutter.Add(stream.Next(token))
		}
	}
	written, _, err := m.committed.Circuit().Generate(ctx, w.Prompt, opts)
	must.OK(err)
	if stream != nil {
		rest := must.Get(stream.Rest())
		cutter.Add(rest)
	}
	cutter.End()
	if out.Tokens, out.Text = written.Tokens, text.String(); written.Ended || cutter.Stopped {
		out.Finish = Stopped
	}
	out.Rest = weighed.take()
	return out, nil
}

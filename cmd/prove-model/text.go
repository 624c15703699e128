package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/hf/audio"
	"github.com/prove-model/prove-model/hf/families"
	"github.com/prove-model/prove-model/hf/tokenizer"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/ui"
)

// Values of Verdict: why a text ends.
const (
	verdictEnded = "ended" // the model wrote a token that ends texts
	verdictCut   = "cut"   // it has as many tokens as were asked for
)

// textOf describes a text that a language model wrote after a prompt.
type textOf struct {
	PromptTokens []int  `json:"prompt_tokens,omitempty"`
	Tokens       []int  `json:"tokens,omitempty"`
	Text         string `json:"text,omitempty"`    // of Tokens, if there is a tokenizer
	Verdict      string `json:"verdict,omitempty"` // ended, or cut
	// Sampling is the rule by which tokens were drawn, if they were.
	Sampling *provemodel.Sampling `json:"sampling,omitempty"`
	// FirstToken is the time from the start of the command to the first token, and Reading the time from when the model
	// began to read the prompt. TokensPerSecond is the rate after the first token.
	FirstToken      float64 `json:"first_token_seconds,omitempty"`
	Reading         float64 `json:"prompt_seconds,omitempty"`
	TokensPerSecond float64 `json:"tokens_per_second,omitempty"`
}

// written describes a text that was just written.
func written(t *job.Text) *textOf {
	return &textOf{
		PromptTokens: t.Prompt, Tokens: t.Tokens, Text: t.Text, Verdict: verdict(t.Ended), Sampling: t.Sampling, FirstToken: t.First, Reading: t.Reading, TokensPerSecond: t.PerSecond(),
	}
}

// verdict returns the verdict on a text that a token of the model ended or not.
func verdict(ended bool) string {
	if ended {
		return verdictEnded
	}
	return verdictCut
}

// Print writes the text with its times; nothing if t is nil.
func (t *textOf) Print(w io.Writer) {
	if t == nil {
		return
	}
	ui.Line(w, "tokens", "%s", ids(t.Tokens))
	ui.LineIf(t.Text != "", w, "text", "%s", t.Text)
	ui.Line(w, "written", "%s; the first %.2f s after the start, of which the prompt took %.2f, then %.3g a second", said(len(t.Tokens), t.Verdict), t.FirstToken, t.Reading, t.TokensPerSecond)
	if t.Sampling != nil {
		ui.Line(w, "drawn", "by the rule that verify takes as %s", flags(t.Sampling))
	}
}

// flags returns the command-line flags that stand for a rule.
func flags(s *provemodel.Sampling) string {
	f := fmt.Sprintf("--seed %d --temperature %v", s.Seed, s.Temperature)
	if s.TopK > 0 {
		f += fmt.Sprintf(" --top-k %d", s.TopK)
	}
	if s.TopP < 1 {
		f += fmt.Sprintf(" --top-p %v", s.TopP)
	}
	return f
}

// said says in words how many tokens were written, and why the text ends.
func said(n int, verdict string) string {
	if verdict == verdictEnded {
		return fmt.Sprintf("%d tokens, ended by the model", n)
	}
	return fmt.Sprintf("cut at %d tokens", n)
}

// ids returns the first 64 of some tokens, as text.
func ids(tokens []int) string {
	const most = 64
	s := strings.Trim(fmt.Sprint(tokens[:min(most, len(tokens))]), "[]")
	if n := len(tokens); n > most {
		s += fmt.Sprintf(" … (%d)", n)
	}
	return s
}

// proven describes a text that a proof states.
type proven struct {
	PromptTokens []int  `json:"prompt_tokens,omitempty"`
	Tokens       []int  `json:"tokens,omitempty"`
	Prompt       string `json:"prompt,omitempty"` // if there is a tokenizer
	Text         string `json:"text,omitempty"`   // likewise
	Verdict      string `json:"verdict,omitempty"`
	// Sampling is the rule by which the tokens follow from the logits, if it was given.
	Sampling *provemodel.Sampling `json:"sampling,omitempty"`

	hidden     []int // tokens of the prompt that Prompt does not show
	suppresses bool  // whether the key has tokens that the model does not write
}

// readText reads the text of a statement, and compares it with what the settings
// expect. If it is another, the error wraps ErrInvalid.
func readText(cfg *config.Config, s *provemodel.Statement, t *tokenizer.Tokenizer) (_ *proven, err error) {
	defer must.Catch(&err)
	if err := checkText(cfg, s, t); err != nil || s.Text == nil {
		return nil, err
	}
	must.OK(checkAudio(cfg, s))
	p := &proven{suppresses: s.Text.Suppresses()}
	var before []int
	if s.Generated != nil {
		p.PromptTokens, p.Tokens, p.Verdict, p.Sampling = s.Generated.Prompt, s.Generated.Tokens, verdict(s.Generated.Ended), s.Generated.Sampling
		before = s.Generated.Before()
	} else {
		for _, id := range s.Inputs[0].Values {
			p.PromptTokens = append(p.PromptTokens, int(id))
		}
	}
	if t == nil {
		return p, nil
	}
	if p.Prompt, err = t.Decode(p.PromptTokens); err == nil {
		p.Text, err = t.After(before, p.Tokens)
	}
	must.OK(err)
	p.hidden = t.Hidden(p.PromptTokens)
	if cfg.Prompt != "" {
		want := must.Get(job.Encode(cfg, t, s.Text))
		if !slices.Equal(want, p.PromptTokens) {
			return nil, fmt.Errorf("%w: it is about another prompt: %s (%d tokens, and the given one has %d)", provemodel.ErrInvalid, ui.Printable(p.Prompt), len(p.PromptTokens), len(want))
		}
	}
	if cfg.Text != "" && cfg.Text != p.Text {
		return nil, fmt.Errorf("%w: the model wrote another text: %s", provemodel.ErrInvalid, ui.Printable(p.Text))
	}
	return p, nil
}

// checkText returns an error if the settings expect a text, a tokenizer or drawn tokens, and the statement does not
// have them.
func checkText(cfg *config.Config, s *provemodel.Statement, t *tokenizer.Tokenizer) error {
	drawn := job.Sampling(cfg) != nil
	wanted := cfg.Prompt != "" || cfg.Text != ""
	switch {
	case s.Text == nil && (wanted || cfg.Audio != "" || t != nil || drawn):
		return fmt.Errorf("%w: its key is not a language model's", provemodel.ErrInvalid)
	case s.Text == nil:
		return nil
	case t == nil && wanted:
		return job.WithHint(errors.New("--prompt and --text need the tokenizer"), "name it with --tokenizer FILE, or the model that it comes with with --model")
	case t != nil && t.Digest() != s.Text.Tokenizer:
		return fmt.Errorf("%w: its key is for another tokenizer, with the SHA-256 %x: the one that is given has %x", provemodel.ErrInvalid, s.Text.Tokenizer, t.Digest())
	case s.Generated == nil && (cfg.Text != "" || drawn):
		return fmt.Errorf("%w: its key does not say that the model wrote anything: it maps tokens to logits", provemodel.ErrInvalid)
	}
	return nil
}

// checkAudio returns an error if the settings expect other audio than the statement has.
func checkAudio(cfg *config.Config, s *provemodel.Statement) (err error) {
	defer must.Catch(&err)
	if cfg.Audio == "" {
		return nil
	}
	sound := must.GetAs(audio.Read(cfg.Audio))("--audio")
	at := slices.IndexFunc(s.Inputs, func(t provemodel.Tensor) bool { return t.Name == families.Audio })
	if at < 0 {
		return fmt.Errorf("%w: it does not state what the model listened to", provemodel.ErrInvalid)
	}
	want, err := job.Hear(sound, []provemodel.Spec{{Name: families.Audio, Shape: s.Inputs[at].Shape}})
	if err != nil {
		return fmt.Errorf("%w: it is about another audio: of the given one, %w", provemodel.ErrInvalid, err)
	}
	if !slices.EqualFunc(s.Inputs[at].Values, want, func(x float64, y int) bool { return x == float64(y) }) {
		return fmt.Errorf("%w: it is about another audio", provemodel.ErrInvalid)
	}
	return nil
}

// Print writes prompt and text, and how the tokens follow from the logits; nothing if p is nil.
func (p *proven) Print(w io.Writer) {
	if p == nil {
		return
	}
	switch {
	case len(p.PromptTokens) == 0 && p.Verdict != "": // audio is printed as an input
	case p.Prompt != "":
		ui.Line(w, "prompt", "%s", p.Prompt)
		if n := len(p.hidden); n > 0 {
			ui.Line(w, "not shown", "%d of its %d tokens, special ones or unknown: %s", n, len(p.PromptTokens), ids(p.hidden))
		}
	default:
		ui.Line(w, "prompt", "%d tokens: %s", len(p.PromptTokens), ids(p.PromptTokens))
	}
	if p.Verdict == "" {
		return
	}
	ui.Line(w, "tokens", "%s", ids(p.Tokens))
	ui.LineIf(p.Text != "" || p.Prompt != "", w, "text", "%s", p.Text)
	how := "each token has the greatest logit"
	if p.suppresses {
		how += " of those that the model may write"
	}
	if p.Sampling != nil {
		how = "each token is what " + flags(p.Sampling) + " draws from the proved logits"
	}
	ui.Line(w, "written", "%s: %s", said(len(p.Tokens), p.Verdict), how)
}

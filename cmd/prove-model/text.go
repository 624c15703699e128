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

// What became of a text.
const (
	verdictEnded = "ended" // by a token of the model
	verdictCut   = "cut"   // after as many tokens as were asked for
)

// textOf is a text of which a language model wrote a part.
type textOf struct {
	PromptTokens []int  `json:"prompt_tokens,omitempty"`
	Tokens       []int  `json:"tokens,omitempty"`
	Text         string `json:"text,omitempty"`    // of the tokens, if there is a tokenizer
	Verdict      string `json:"verdict,omitempty"` // ended, or cut
	// Sampling is the rule by which tokens were drawn, if they were.
	Sampling *provemodel.Sampling `json:"sampling,omitempty"`
	// FirstToken is from the start of the command to the first token, Reading from when the model began to read the prompt.
	// TokensPerSecond is after the first one.
	FirstToken      float64 `json:"first_token_seconds,omitempty"`
	Reading         float64 `json:"prompt_seconds,omitempty"`
	TokensPerSecond float64 `json:"tokens_per_second,omitempty"`
}

func written(t *job.Text) *textOf {
	return &textOf{
		PromptTokens: t.Prompt, Tokens: t.Tokens, Text: t.Text, Verdict: verdict(t.Ended), Sampling: t.Sampling, FirstToken: t.First, Reading: t.Reading, TokensPerSecond: t.PerSecond(),
	}
}

func verdict(ended bool) string {
	if ended {
		return verdictEnded
	}
	return verdictCut
}

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

// flags are those that stand for a rule.
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

func said(n int, verdict string) string {
	if verdict == verdictEnded {
		return fmt.Sprintf("%d tokens, ended by the model", n)
	}
	return fmt.Sprintf("cut at %d tokens", n)
}

func ids(tokens []int) string {
	const most = 64
	s := strings.Trim(fmt.Sprint(tokens[:min(most, len(tokens))]), "[]")
	if n := len(tokens); n > most {
		s += fmt.Sprintf(" … (%d)", n)
	}
	return s
}

// proven is what a proof says of a text, as a verifier with a tokenizer reads it.
type proven struct {
	PromptTokens []int  `json:"prompt_tokens,omitempty"`
	Tokens       []int  `json:"tokens,omitempty"`
	Prompt       string `json:"prompt,omitempty"` // with a tokenizer
	Text         string `json:"text,omitempty"`   // likewise
	Verdict      string `json:"verdict,omitempty"`
	// Sampling is the rule by which the tokens follow from the logits, if it was given.
	Sampling *provemodel.Sampling `json:"sampling,omitempty"`

	hidden     []int // tokens of the prompt that are not in its text
	suppresses bool  // whether the key has tokens that are not written
}

// readText reads the tokens of a statement, and holds them against the text that the
// settings want. An error that wraps ErrInvalid says that they are others.
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

// checkText fails if the settings ask for a text, a tokenizer or sampling that the statement does not have.
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

// checkAudio fails if the settings ask for another audio than the statement has.
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

func (p *proven) Print(w io.Writer) {
	if p == nil {
		return
	}
	switch {
	case len(p.PromptTokens) == 0 && p.Verdict != "": // what it listened to is printed as an input
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

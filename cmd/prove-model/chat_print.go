package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/prove-model/prove-model/internal/ui"
)

// chatEvent is a line of the output of chat --json.
type chatEvent struct {
	// Event says what happened: part (of an answer), answer, proof, verified, saved, said (the output of a command),
	// notice or error.
	Event  string `json:"event"`
	Number int    `json:"number,omitempty"` // of the answer
	Text   string `json:"text,omitempty"`
	// These describe an answer.
	PromptTokens    []int   `json:"prompt_tokens,omitempty"`
	Tokens          []int   `json:"tokens,omitempty"`
	Verdict         string  `json:"verdict,omitempty"` // ended, or cut
	FirstToken      float64 `json:"first_token_seconds,omitempty"`
	TokensPerSecond float64 `json:"tokens_per_second,omitempty"`
	// These describe a proof.
	ProofBytes int     `json:"proof_bytes,omitempty"`
	Seconds    float64 `json:"seconds,omitempty"`
	Valid      *bool   `json:"valid,omitempty"` // of the event verified
	Folder     string  `json:"folder,omitempty"`
	// Chains are the folders that verify --chain takes.
	Chains     []string `json:"chains,omitempty"`
	Commitment string   `json:"model_commitment,omitempty"`
}

// chatPrinter prints a conversation. Several goroutines may use it.
type chatPrinter struct {
	mu          sync.Mutex
	out, err    io.Writer
	terminal    bool // whether a person types
	json, quiet bool
}

// event prints an event as JSON, or calls text to print it for people.
func (p *chatPrinter) event(e *chatEvent, text func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.json {
		text()
		return
	}
	_ = ui.JSONLine(p.out, e) // standard output remembers errors (program.Run)
}

// ask prints the prompt sign, if a person types.
func (p *chatPrinter) ask() {
	if p.terminal {
		p.event(&chatEvent{}, func() { fmt.Fprint(p.out, ">>> ") })
	}
}

// end ends the line of the last prompt sign.
func (p *chatPrinter) end() {
	if p.terminal {
		fmt.Fprintln(p.out)
	}
}

// say prints a note on standard error, unless --quiet is set.
func (p *chatPrinter) say(format string, args ...any) {
	if p.quiet {
		return
	}
	text := fmt.Sprintf(format, args...)
	p.event(&chatEvent{Event: "notice", Text: text}, func() { fmt.Fprintln(p.err, ui.PrintableLines(text)) })
}

// tell prints the output of a command of the conversation.
func (p *chatPrinter) tell(text string) {
	p.event(&chatEvent{Event: "said", Text: text}, func() { fmt.Fprintln(p.out, ui.PrintableLines(text)) })
}

// failed prints an error that does not end the conversation.
func (p *chatPrinter) failed(err error) {
	p.event(&chatEvent{Event: "error", Text: err.Error()}, func() { fmt.Fprintln(p.err, ui.PrintableLines(err.Error())) })
}

// part prints a part of an answer.
func (p *chatPrinter) part(number int, text string) {
	p.event(&chatEvent{Event: "part", Number: number, Text: text}, func() { fmt.Fprint(p.out, ui.PrintableLines(text)) })
}

// endAnswer ends the line of an answer.
func (p *chatPrinter) endAnswer() {
	if !p.json {
		p.event(nil, func() { fmt.Fprintln(p.out) })
	}
}

// answered prints that an answer is complete, with its times.
func (p *chatPrinter) answered(a *answer, t *writingTimes) {
	first := t.first.Sub(t.start).Seconds()
	p.event(&chatEvent{Event: "answer", Number: a.Number, Text: a.Text, PromptTokens: a.PromptTokens, Tokens: a.Tokens, Verdict: a.Verdict, FirstToken: first, TokensPerSecond: t.perSecond()}, func() {
		if !p.quiet {
			fmt.Fprintf(p.err, "(answer %d: %s; the first after %.2f s, then %.3g a second)\n", a.Number, said(len(a.Tokens), a.Verdict), first, t.perSecond())
		}
	})
}

// proved prints that an answer was proved, for programs only; people ask for it (/verify). That a proof failed is
// always printed.
func (p *chatPrinter) proved(a *answer, took time.Duration) {
	if a.err != nil {
		p.failed(fmt.Errorf("answer %d could not be proved: %w", a.Number, a.err))
		return
	}
	p.event(&chatEvent{Event: "proof", Number: a.Number, ProofBytes: len(a.proof()), Seconds: took.Seconds()}, func() {})
}

// verified prints the verdict on an answer's proof.
func (p *chatPrinter) verified(a *answer, sentence string, err error) {
	if err != nil {
		sentence = fmt.Sprintf("NOT VALID: answer %d: %s", a.Number, plain(err))
	}
	valid := err == nil
	p.event(&chatEvent{Event: "verified", Number: a.Number, Valid: &valid, Text: sentence}, func() { fmt.Fprintln(p.out, ui.PrintableLines(sentence)) })
}

// savedIn prints where the conversation was saved.
func (p *chatPrinter) savedIn(folder string, n int, chains []string, commitment string) {
	p.event(&chatEvent{Event: "saved", Folder: folder, Chains: chains, Commitment: commitment}, func() {
		ui.Line(p.out, "saved", "%d proofs, key.vk and transcript.json in %s", n, folder)
		for _, c := range chains {
			ui.Line(p.out, "chain", "%s, for verify --chain", c)
		}
		ui.Line(p.out, "commitment", "%s", commitment)
	})
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/hf"
	"github.com/prove-model/prove-model/hf/chat"
	"github.com/prove-model/prove-model/hf/tokenizer"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
)

// conversation is a model with the messages so far and the answers that it has given.
type conversation struct {
	*work
	out       *chatPrinter
	signals   <-chan os.Signal
	template  *chat.Template
	tokenizer *tokenizer.Tokenizer
	prefix    provemodel.Pass // keys and values of the last answer's text, for the next answer
	messages  []chat.Message  // the system message, if there is one, then the turns
	answers   []*answer
	proofs    *proofs
	saved     map[string]bool // folders in which the conversation was saved
	verdict   error           // set if a proof did not verify
}

// answer is what the model wrote in one turn.
type answer struct {
	Number       int                  `json:"number"`
	Messages     []chat.Message       `json:"messages"` // the messages that it answers
	Text         string               `json:"text"`     // without the stop that ended it
	PromptTokens []int                `json:"prompt_tokens"`
	Tokens       []int                `json:"tokens"`
	Verdict      string               `json:"verdict"` // ended, or cut
	Sampling     *provemodel.Sampling `json:"sampling,omitempty"`
	Proof        string               `json:"proof,omitempty"` // file of the proof: of a segment, or of the whole conversation up to the answer
	// Chain is the folder of the chain that the answer's proof is a segment of. The answer is proved by the first Segments
	// segments of it.
	Chain    string `json:"chain,omitempty"`
	Segments int    `json:"segments,omitempty"`

	in    provemodel.Input
	files [][]byte      // set when done is closed: proofs of all segments up to this answer; its own is the last
	chain int           // number of the chain; 0 if the proof is of the whole conversation
	err   error         // why there is no proof
	done  chan struct{} // closed when the answer is proved or cannot be
}

// proof returns the answer's own proof.
func (a *answer) proof() []byte { return a.files[len(a.files)-1] }

// readTexts reads the tokenizer and the chat template.
func (c *conversation) readTexts(model string) (err error) {
	if model == "" {
		return job.WithHint(errors.New("no model"), "name a folder or a GGUF file with --model")
	}
	if !hf.Is(model) {
		return fmt.Errorf("%s is no language model with a tokenizer: name a folder in the Hugging Face layout, or a GGUF file", model)
	}
	from := job.TokenizerOf(model)
	if c.tokenizer, err = tokenizer.Open(from); err != nil {
		return err
	}
	if c.template, err = chat.Open(from); err != nil {
		return job.WithHint(err, "a model without a chat template goes on after any text: prove-model --prompt TEXT --max-tokens N")
	}
	return nil
}

// answer has the model answer a text, prints the answer, and queues it to be proved.
func (c *conversation) answer(ctx context.Context, text string) (err error) {
	defer must.Catch(&err)
	messages := append(slices.Clone(c.messages), chat.Message{Role: "user", Content: text})
	rendered := must.Get(c.template.Render(messages, true))
	prompt := must.Get(c.tokenizer.EncodeChat(rendered))
	free := c.circuit.Free()
	room := min(free[1].Bound, free[0].Bound-len(prompt))
	if room < 1 {
		return fmt.Errorf("the conversation has %d tokens with this turn, and the key is for %d: /clear begins another, and --tokens has keys for more", len(prompt), free[0].Bound)
	}
	most := cmp.Or(c.cfg.MaxTokens, longestAnswer)
	a := &answer{Number: len(c.answers) + 1, Messages: messages, Sampling: c.sampling(), done: make(chan struct{})}
	times := &writingTimes{start: time.Now()}
	c.proofs.pause()
	defer c.proofs.resume()
	err = c.interruptible(ctx, func() bool { return !times.began() }, func(ctx context.Context, asked *atomic.Bool) error {
		return c.write(ctx, a, prompt, min(room, most), asked, times)
	})
	c.out.endAnswer()
	if errors.Is(err, context.Canceled) && ctx.Err() == nil {
		c.out.say("interrupted before the first token")
		return nil
	}
	must.OK(err)
	c.messages = append(messages, chat.Message{Role: "assistant", Content: a.Text})
	c.answers = append(c.answers, a)
	c.out.answered(a, times)
	c.proofs.add(a)
	return nil
}

// write has the model write an answer of at most `most` tokens, until a stop occurs or asked is set.
func (c *conversation) write(ctx context.Context, a *answer, prompt []int, most int, asked *atomic.Bool, times *writingTimes) (err error) {
	defer must.Catch(&err)
	stream := c.tokenizer.Stream(prompt)
	var text strings.Builder
	cutter := &job.Cutter{Stops: c.cfg.Stop, Emit: func(s string) {
		text.WriteString(s)
		c.out.part(a.Number, s)
	}}
	w, in, err := c.circuit.Generate(ctx, prompt, &provemodel.GenerateOptions{
		Sampling: a.Sampling, MaxTokens: most, Prefix: &c.prefix, Device: c.opts.Prove.Device, Observer: warner{c.out},
		Each: func(token int) {
			times.token()
			cutter.Add(stream.Next(token))
		},
		Stop: func() bool { return cutter.Stopped || asked.Load() },
	})
	must.OK(err)
	rest := must.Get(stream.Rest())
	cutter.Add(rest)
	cutter.End()
	a.Text, a.PromptTokens, a.Tokens, a.Verdict, a.in = text.String(), w.Prompt, w.Tokens, verdict(w.Ended), in
	return nil
}

// writingTimes says when the tokens of an answer were written. Another goroutine may ask whether the first one was.
type writingTimes struct {
	start, first, last time.Time
	tokens             atomic.Int64
}

// token records that a token was written.
func (t *writingTimes) token() {
	t.last = time.Now()
	if t.tokens.Add(1) == 1 {
		t.first = t.last
	}
}

// began says whether the first token was written.
func (t *writingTimes) began() bool { return t.tokens.Load() > 0 }

// perSecond returns the number of tokens per second, without the first one; 0 for a single token.
func (t *writingTimes) perSecond() float64 {
	s := t.last.Sub(t.first).Seconds()
	if s <= 0 {
		return 0
	}
	return float64(t.tokens.Load()-1) / s
}

// warner is an observer that prints warnings and drops the rest.
type warner struct{ out *chatPrinter }

func (warner) Begin(provemodel.Phase) {}
func (warner) Progress(int, int)      {}
func (warner) End(error)              {}
func (w warner) Warn(message string)  { w.out.say("%s", message) }

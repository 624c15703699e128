package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/hf/tokenizer"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/prover/verifier"
)

// Text is what a language model wrote after the prompt.
type Text struct {
	*verifier.Written
	Text string // "" without a tokenizer
	// Seconds from the first token to the last, from the start of the command to the first, and from the start of writing to it.
	Seconds, First, Reading float64
}

// PerSecond is the number of tokens in a second, the prompt's time aside; 0 for one
// token.
func (t *Text) PerSecond() float64 {
	if t.Seconds <= 0 {
		return 0
	}
	return float64(len(t.Tokens)-1) / t.Seconds
}

// Generate has the circuit go on after the prompt, which makes the job's input, for a proof with these options: on their device, by their
// rule, and their pass, unless nil, is left what was computed. What is known of the prompt, if not nil, is not computed again. Text, or tokens if there is no tokenizer, is written to w as it comes, unless
// w is nil. The user has waited since.
func (j *Job) Generate(ctx context.Context, c *provemodel.Circuit, w io.Writer, opts *provemodel.ProveOptions, known *provemodel.Pass, since time.Time) (*Text, error) {
	if j.prompt == nil {
		return nil, noPrompt("--max-tokens")
	}
	out, in, err := j.prompt.generate(ctx, c, j.Model.Start(), w, opts, known, since)
	if err == nil {
		j.Input, j.generated = in, true
	}
	return out, err
}

// generate has the circuit go on after the prompt, as Generate.
func (p *Prompt) generate(ctx context.Context, c *provemodel.Circuit, start []int, w io.Writer, opts *provemodel.ProveOptions, known *provemodel.Pass, since time.Time) (*Text, provemodel.Input, error) {
	out := &Text{}
	var stream *tokenizer.Stream
	if p.Tokenizer != nil {
		stream = p.Tokenizer.Stream(p.before(start))
	}
	show := func(s string) {
		if w != nil && s != "" {
			fmt.Fprint(w, ui.PrintableLines(s))
		}
	}
	reading := time.Now()
	var began time.Time
	generated, in, err := c.Generate(ctx, p.IDs, &provemodel.GenerateOptions{Pass: opts.Pass, Prefix: known, Sampling: opts.Sampling, Device: opts.Device, Observer: opts.Observer, Each: func(token int) {
		if began.IsZero() {
			began = time.Now()
			out.First, out.Reading = began.Sub(since).Seconds(), began.Sub(reading).Seconds()
		}
		out.Seconds = time.Since(began).Seconds()
		if stream != nil {
			show(stream.Next(token))
		} else if w != nil {
			fmt.Fprintf(w, "%d ", token)
		}
	}})
	if stream != nil {
		rest, failed := stream.Rest()
		show(rest)
		err = errors.Join(err, failed)
	}
	if w != nil {
		fmt.Fprintln(w)
	}
	if err != nil {
		return nil, nil, err
	}
	out.Written = generated
	if t := p.Tokenizer; t != nil {
		out.Text, err = t.After(generated.Before(), generated.Tokens)
	}
	return out, in, err
}

// before are the tokens that those which the model writes follow: those that every text of a decoder begins with, if there are some.
func (p *Prompt) before(start []int) []int {
	if start != nil {
		return start
	}
	return p.IDs
}

// IsText says that the model is one of language.
func (j *Job) IsText() bool { return j.Model.MostTokens() > 0 }

// Name returns a token as people read it, in quotes where there is a tokenizer, with its id.
func (j *Job) Name(id int) string {
	t := j.tokenizer()
	if t == nil {
		return fmt.Sprint(id)
	}
	piece, ok := t.Token(id)
	if !ok {
		return fmt.Sprint(id)
	}
	if text, err := t.After([]int{id}, []int{id}); err == nil && text != "" {
		piece = text // which the vocabulary may write in another way
	}
	return fmt.Sprintf("%q %d", piece, id)
}

// Prompt returns the prompt in words, "" if there is none or no tokenizer.
func (j *Job) Prompt() (string, error) {
	t := j.tokenizer()
	if t == nil {
		return "", nil
	}
	return t.Decode(j.prompt.IDs)
}

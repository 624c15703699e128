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
	// Seconds is the time from the first token to the last. First is the time from the start of the command to the first
	// token, and Reading the time that the model took to read the prompt, up to the first token.
	Seconds, First, Reading float64
}

// PerSecond returns the number of tokens per second, without the first one and the time
// before it; 0 for a single token.
func (t *Text) PerSecond() float64 {
	if t.Seconds <= 0 {
		return 0
	}
	return float64(len(t.Tokens)-1) / t.Seconds
}

// Generate makes the circuit continue the prompt, and sets the job's input to the prompt with its continuation. opts are the options of
// the proof to come: the text is written on their device and by their Sampling, and their Pass, unless nil, receives the computed values.
// known, unless nil, has keys and values of the beginning of the prompt. The text is written to w as it comes, or its tokens if there is
// no tokenizer; w may be nil. since is when the user began to wait.
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

// generate does what Job.Generate does, for one prompt; it does not change the job. start are the tokens that every
// text of a decoder begins with, nil for other models.
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

// before returns the tokens that precede the first written one in the same text: the start tokens of an
// encoder–decoder's decoder, else the prompt.
func (p *Prompt) before(start []int) []int {
	if start != nil {
		return start
	}
	return p.IDs
}

// IsText says whether the model takes texts.
func (j *Job) IsText() bool { return j.Model.MostTokens() > 0 }

// Name returns a token in a form for people: its quoted text and its id, or the id alone if there is no tokenizer.
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
		piece = text // the vocabulary may write it in another way
	}
	return fmt.Sprintf("%q %d", piece, id)
}

// Prompt returns the text of the prompt, "" if there is none or no tokenizer.
func (j *Job) Prompt() (string, error) {
	t := j.tokenizer()
	if t == nil {
		return "", nil
	}
	return t.Decode(j.prompt.IDs)
}

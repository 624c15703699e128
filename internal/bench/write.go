package bench

import (
	"context"
	"fmt"
	"io"
	"time"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/internal/ui"
)

// Writing is the measurement of how fast a quantised language model with random weights writes a text. Times are in seconds.
type Writing struct {
	Shape      string `json:"shape"`
	Layers     int    `json:"layers"`
	Parameters int    `json:"parameters"`
	Mode       string `json:"mode"`
	Prompt     int    `json:"prompt_tokens"`
	Tokens     int    `json:"tokens"`

	Phases     []ui.Phase   `json:"phases"` // up to the quantised model
	Runs       []WritingRun `json:"runs"`
	PeakMemory int64        `json:"peak_memory_bytes"`
}

// WritingRun is the measurement of one text.
type WritingRun struct {
	First    float64 `json:"first_token_seconds"`
	FirstCPU float64 `json:"first_token_cpu_seconds"`
	// Token is the mean time of a token after the first one, and TokenCPU its mean processor time.
	Token     float64 `json:"token_seconds"`
	TokenCPU  float64 `json:"token_cpu_seconds"`
	PerSecond float64 `json:"tokens_per_second"`
}

// WritingOptions say what MeasureWriting measures.
type WritingOptions struct {
	Shape          *Shape
	Layers         int // 0: as many as the shape has
	Prompt, Tokens int
	Runs           int // number of texts, all written after the same prompt
}

// MeasureWriting draws the model, unless the cache folder holds it, quantises it, and has it write texts after a prompt of random
// tokens. Nothing is committed to or proved.
func MeasureWriting(ctx context.Context, cfg *config.Config, o WritingOptions, ph *ui.Phases) (_ *Writing, err error) {
	defer must.Catch(&err)
	m := o.Shape.open(ctx, cfg, o.Layers, &provemodel.OpenOptions{Tokens: o.Prompt + o.Tokens, MaxTokens: o.Tokens}, ph)
	defer m.close()
	c := m.quantise(ctx, m.sample(o.Prompt+o.Tokens))
	w := &Writing{Shape: o.Shape.Name, Layers: m.layers, Parameters: m.Parameters(), Mode: cfg.Mode, Prompt: o.Prompt, Tokens: o.Tokens, Phases: ph.All()}
	prompt := m.tokens(o.Prompt)
	for range o.Runs {
		ph.Begin("write")
		r, err := writeOnce(ctx, c, prompt, &m.opts.Prove)
		ph.End(err)
		must.OK(err)
		w.Runs = append(w.Runs, *r)
	}
	w.PeakMemory = ui.PeakMemory()
	return w, nil
}

// writeOnce measures how a model writes one text after prompt, on the device of the given options.
func writeOnce(ctx context.Context, c *provemodel.Circuit, prompt []int, on *provemodel.ProveOptions) (*WritingRun, error) {
	start, cpu := time.Now(), ui.ProcessorTime()
	var first, last time.Duration
	var firstCPU, lastCPU time.Duration
	n := 0
	_, _, err := c.Generate(ctx, prompt, &provemodel.GenerateOptions{Device: on.Device, Observer: on.Observer, Each: func(int) {
		last, lastCPU = time.Since(start), ui.ProcessorTime()-cpu
		if n++; n == 1 {
			first, firstCPU = last, lastCPU
		}
	}})
	if err != nil {
		return nil, err
	}
	r := &WritingRun{First: first.Seconds(), FirstCPU: firstCPU.Seconds()}
	if n > 1 {
		r.Token, r.TokenCPU = (last-first).Seconds()/float64(n-1), (lastCPU-firstCPU).Seconds()/float64(n-1)
		r.PerSecond = 1 / r.Token
	}
	return r, nil
}

// Print writes what was done once, and a row for each text.
func (w *Writing) Print(out io.Writer) {
	fmt.Fprintf(out, "%s, %d layers, %d parameters; mode %s; %d tokens after a prompt of %d\n", w.Shape, w.Layers, w.Parameters, w.Mode, w.Tokens, w.Prompt)
	ui.Table(out, []string{"once", "seconds", "cpu seconds"}, phaseRows(w.Phases))
	fmt.Fprintln(out)
	ui.Table(out, []string{"first token s", "cpu s", "each other s", "cpu s", "tokens/s"}, seq.Map(w.Runs, func(r WritingRun) []string {
		return ui.Cells("%.3f\t%.3f\t%.4f\t%.4f\t%.1f", r.First, r.FirstCPU, r.Token, r.TokenCPU, r.PerSecond)
	}))
	fmt.Fprintf(out, "\npeak %s\n", ui.Bytes(w.PeakMemory))
}

package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/devices"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/internal/ui"
)

// Texts is the measurement of one proof of many texts, which a language model with random weights has written, and of proofs of
// single texts. Times are in seconds.
type Texts struct {
	Shape  string `json:"shape"`
	Layers int    `json:"layers"`
	Mode   string `json:"mode"`
	Prompt int    `json:"prompt_tokens"`
	Tokens int    `json:"tokens"`
	Texts  int    `json:"texts"`
	// Different is the number of different texts, each of which is also proved alone. The other texts repeat these.
	Different  int             `json:"different_texts"`
	Alone      []TextsRun      `json:"alone"`
	Together   TextsRun        `json:"together"`
	Share      float64         `json:"share"` // time of the joint proof, as a fraction of the time of as many proofs of one text
	ShareCPU   float64         `json:"cpu_share"`
	PeakMemory int64           `json:"peak_memory_bytes"`
	Devices    []devices.Stats `json:"devices"`
}

// TextsRun is the measurement of a proof of one text, or of all.
type TextsRun struct {
	Prove      float64 `json:"prove_seconds"`
	ProveCPU   float64 `json:"prove_cpu_seconds"`
	Verify     float64 `json:"verify_seconds"`
	ProofBytes int     `json:"proof_bytes"`
}

// TextsOptions say what is measured.
type TextsOptions struct {
	Shape          *Shape
	Layers         int // 0: as many as the shape has
	Prompt, Tokens int // of each text
	Texts          int // of one proof
	Alone          int // number of texts that are proved alone; the first proof includes what is set up once, and is not reported
}

// MeasureTexts draws the model as MeasureLLM does, has it write texts, and proves and verifies some of them alone, and
// all in one proof.
func MeasureTexts(ctx context.Context, cfg *config.Config, o TextsOptions, ph *ui.Phases) (_ *Texts, err error) {
	defer must.Catch(&err)
	longest := max(o.Prompt+o.Tokens, min(calibrated, o.Shape.Context()))
	float := o.Shape.open(ctx, cfg, o.Layers, &provemodel.OpenOptions{Tokens: longest, MaxTokens: o.Tokens}, ph)
	defer float.close()
	opts := &float.opts.Prove
	c := must.Get(provemodel.Commit(ctx, float.quantise(ctx, float.sample(longest)), &float.opts.Commit))
	ph.Begin("write texts")
	written := make([]provemodel.Input, min(o.Alone, o.Texts))
	for i := range written {
		_, written[i], err = c.Circuit().Generate(ctx, float.tokens(o.Prompt), &provemodel.GenerateOptions{MaxTokens: o.Tokens, Device: float.dev, Observer: ph})
		if err != nil {
			break
		}
	}
	ph.End(err)
	must.OK(err)
	m := &Texts{Shape: o.Shape.Name, Layers: float.layers, Mode: cfg.Mode, Prompt: o.Prompt, Tokens: o.Tokens, Texts: o.Texts, Different: len(written)}
	mean, cpu := 0.0, 0.0
	for i := range written {
		r := proveTexts(ctx, c, written[i:i+1], opts, ph)
		if i > 0 {
			m.Alone, mean, cpu = append(m.Alone, *r), mean+r.Prove/float64(len(written)-1), cpu+r.ProveCPU/float64(len(written)-1)
		}
	}
	all := make([]provemodel.Input, o.Texts)
	for i := range all {
		all[i] = written[i%len(written)]
	}
	r := proveTexts(ctx, c, all, opts, ph)
	m.Together, m.Share, m.ShareCPU = *r, r.Prove/(mean*float64(o.Texts)), r.ProveCPU/(cpu*float64(o.Texts))
	m.PeakMemory, m.Devices = ui.PeakMemory(), float.dev.Stats()
	return m, nil
}

// proveTexts makes one proof of one text or of several, and verifies it.
func proveTexts(ctx context.Context, c *provemodel.Committed, texts []provemodel.Input, opts *provemodel.ProveOptions, ph *ui.Phases) *TextsRun {
	before := len(ph.All())
	var p *provemodel.Proof
	var err error
	if len(texts) == 1 {
		p, err = provemodel.Prove(ctx, c, texts[0], opts)
	} else {
		p, err = provemodel.ProveTexts(ctx, c, texts, opts)
	}
	must.OK(err)
	r := &TextsRun{ProofBytes: len(p.File)}
	r.Prove, r.ProveCPU = took(ph.All()[before:])
	key := must.Get(provemodel.ReadKey(bytes.NewReader(c.KeyFile())))
	began := time.Now()
	s, err := provemodel.Verify(key, bytes.NewReader(p.File), &provemodel.VerifyOptions{MinBits: 1})
	if err != nil || max(s.Several, 1) != len(texts) {
		must.OK(fmt.Errorf("a proof of %d texts does not verify: %v", len(texts), err)) // not wrapped: ErrInvalid errors are not printed
	}
	r.Verify = time.Since(began).Seconds()
	return r
}

// Print writes a row for each proof, and how the joint proof compares with single ones.
func (m *Texts) Print(w io.Writer) {
	fmt.Fprintf(w, "%s, %d layers; mode %s, %d tokens after %d of prompt; %d of the texts differ\n", m.Shape, m.Layers, m.Mode, m.Tokens, m.Prompt, m.Different)
	row := func(texts int, r TextsRun) []string {
		return ui.Cells("%d\t%.3f\t%.3f\t%.1f\t%.1f", texts, r.Prove, r.ProveCPU, float64(r.ProofBytes)/1e3, 1e3*r.Verify)
	}
	rows := seq.Map(m.Alone, func(r TextsRun) []string { return row(1, r) })
	ui.Table(w, []string{"texts", "prove s", "cpu s", "proof KB", "verify ms"}, append(rows, row(m.Texts, m.Together)))
	fmt.Fprintf(w, "\none proof of %d texts takes %.3f of the seconds of as many proofs of one, %.3f of their processor time; peak %s\n",
		m.Texts, m.Share, m.ShareCPU, ui.Bytes(m.PeakMemory))
}

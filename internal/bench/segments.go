package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/ui"
)

// Segments is the measurement of a text of random tokens that is proved in segments of one length, by a language model with
// random weights, and of the same text in one proof. Seconds.
type Segments struct {
	Shape         string    `json:"shape"`
	Layers        int       `json:"layers"`
	Mode          string    `json:"mode"`
	SegmentTokens int       `json:"segment_tokens"`
	Runs          []Segment `json:"segments"`
	// Whole is the same text in one proof, unless that was not asked for.
	Whole      *Segment `json:"whole,omitempty"`
	PeakMemory int64    `json:"peak_memory_bytes"`
}

// Segment is the proof of one of them.
type Segment struct {
	Before     int     `json:"tokens_before"`
	Prove      float64 `json:"prove_seconds"`
	ProveCPU   float64 `json:"prove_cpu_seconds"`
	Verify     float64 `json:"verify_seconds"` // of all segments up to this one
	ProofBytes int     `json:"proof_bytes"`
}

// SegmentsOptions say what is measured.
type SegmentsOptions struct {
	Shape    *Shape
	Layers   int // 0: as many as the shape has
	Tokens   int // of a segment
	Segments int
	Whole    bool // prove the text in one proof as well
}

// MeasureSegments draws the model as MeasureLLM, and proves and verifies a chain of segments.
func MeasureSegments(ctx context.Context, cfg *config.Config, o SegmentsOptions, ph *ui.Phases) (*Segments, error) {
	local := *cfg
	local.NoCache, local.NoSelfCheck, local.NoResume = true, true, true
	path, layers, err := o.Shape.cached(ctx, cfg, o.Layers, ph)
	if err != nil {
		return nil, err
	}
	dev, err := job.OpenDevice(ctx, cfg, ph)
	if err != nil {
		return nil, err
	}
	defer dev.Close()
	opts := job.OptionsOf(&local, ph, dev)
	n := o.Tokens * o.Segments
	float, err := provemodel.Open(path, &provemodel.OpenOptions{Tokens: n + 1, MaxTokens: 1})
	if err != nil {
		return nil, err
	}
	defer float.Close()
	out := float.Outputs()[0].Shape
	ids := randomTokens(rand.New(rand.NewPCG(uint64(cfg.Seed), 1)), out[len(out)-1], n)
	sample, err := float.TextInput(ids[:min(calibrated, n)], ids[:1])
	if err != nil {
		return nil, err
	}
	circuit, err := provemodel.Quantise(ctx, float, []provemodel.Input{sample}, &opts.Quantise)
	if err != nil {
		return nil, err
	}
	c, err := provemodel.Commit(ctx, circuit, &opts.Commit)
	if err != nil {
		return nil, err
	}
	m := &Segments{Shape: o.Shape.Name, Layers: layers, Mode: cfg.Mode, SegmentTokens: o.Tokens}
	if m.Runs, err = measureChain(ctx, c, ids, o.Tokens, &opts.Prove, ph); err != nil {
		return nil, err
	}
	if o.Whole {
		whole, err := measureChain(ctx, c, ids, n, &opts.Prove, ph)
		if err != nil {
			return nil, err
		}
		m.Whole = &whole[0]
	}
	m.PeakMemory = ui.PeakMemory()
	return m, nil
}

// measureChain proves a text in segments of so many tokens, which are all given.
func measureChain(ctx context.Context, c *provemodel.Committed, ids []int, tokens int, opts *provemodel.ProveOptions, ph *ui.Phases) ([]Segment, error) {
	ch, err := c.OpenChain(ctx, nil, nil, nil)
	if err != nil {
		return nil, err
	}
	key, err := provemodel.ReadKey(bytes.NewReader(c.KeyFile()))
	if err != nil {
		return nil, err
	}
	var files [][]byte
	var list []Segment
	for at := 0; at < len(ids); at += tokens {
		before := len(ph.All())
		p, err := c.ProveSegment(ctx, ch, ids[at:at+tokens], tokens, opts)
		if err != nil {
			return nil, err
		}
		s := Segment{Before: at, ProofBytes: len(p.File)}
		for _, phase := range ph.All()[before:] {
			s.Prove, s.ProveCPU = s.Prove+phase.Seconds, s.ProveCPU+phase.CPU
		}
		files = append(files, p.File)
		readers := make([]io.Reader, len(files))
		for i, f := range files {
			readers[i] = bytes.NewReader(f)
		}
		began := time.Now()
		if _, err := (&provemodel.VerifyOptions{MinBits: 1, FirstValues: 1}).Chain(key, readers...); err != nil {
			return nil, fmt.Errorf("a chain does not verify: %v", err) // not wrapped: nothing has said so yet
		}
		s.Verify = time.Since(began).Seconds()
		list = append(list, s)
	}
	return list, nil
}

// SegmentsTable writes a row for each proof.
func SegmentsTable(w io.Writer, m *Segments) error {
	fmt.Fprintf(w, "%s, %d layers; mode %s, segments of %d tokens\n", m.Shape, m.Layers, m.Mode, m.SegmentTokens)
	var rows [][]string
	row := func(what string, s *Segment) {
		rows = append(rows, []string{what, fmt.Sprintf("%.3f", s.Prove), fmt.Sprintf("%.3f", s.ProveCPU), fmt.Sprintf("%.1f", float64(s.ProofBytes)/1e3), fmt.Sprintf("%.1f", 1e3*s.Verify)})
	}
	for i := range m.Runs {
		row(fmt.Sprint(m.Runs[i].Before), &m.Runs[i])
	}
	if m.Whole != nil {
		row("whole", m.Whole)
	}
	if err := ui.Table(w, []string{"tokens before", "prove s", "cpu s", "proof KB", "verify ms, from the first"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\npeak %s\n", ui.Bytes(m.PeakMemory))
	return err
}

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

// Segments is the measurement of a text of random tokens that is proved in segments, with a language model with random weights, and
// of the same text in one proof. Times are in seconds.
type Segments struct {
	Shape  string    `json:"shape"`
	Layers int       `json:"layers"`
	Mode   string    `json:"mode"`
	Runs   []Segment `json:"segments"`
	// Reopen is the time to open the whole chain, as another process would that continues it: with the stored keys and values,
	// and in Again with keys and values that are computed again. Both verify the proofs; Verify is the time of that alone.
	Reopen float64 `json:"reopen_seconds"`
	Again  float64 `json:"reopen_without_stored_seconds,omitempty"`
	Verify float64 `json:"verify_seconds"`
	// Whole is the same text in one proof, nil if that was not asked for.
	Whole      *Segment        `json:"whole,omitempty"`
	PeakMemory int64           `json:"peak_memory_bytes"`
	Devices    []devices.Stats `json:"devices,omitempty"`
}

// Segment is the measurement of the proof of one segment.
type Segment struct {
	Before     int     `json:"tokens_before"`
	Tokens     int     `json:"tokens"`
	Prove      float64 `json:"prove_seconds"`
	ProveCPU   float64 `json:"prove_cpu_seconds"`
	Stored     int     `json:"stored_bytes"`
	ProofBytes int     `json:"proof_bytes"`
	// PeakMemory is the most memory of the process so far. PeakDevice is the most that was allocated on a GPU so far;
	// DeviceWeights of these bytes are weights.
	PeakMemory    int64 `json:"peak_memory_bytes"`
	PeakDevice    int64 `json:"peak_device_bytes,omitempty"`
	DeviceWeights int64 `json:"device_weights_bytes,omitempty"`
}

// SegmentsOptions say what is measured.
type SegmentsOptions struct {
	Shape   *Shape
	Layers  int   // 0: as many as the shape has
	Lengths []int // number of tokens of each segment
	Whole   bool  // also prove the text in one proof
	Again   bool  // also measure the time to compute the keys and values of all segments again
}

// Tokens returns the number of tokens of all segments.
func (o *SegmentsOptions) Tokens() int {
	n := 0
	for _, t := range o.Lengths {
		n += t
	}
	return n
}

// MeasureSegments draws the model as MeasureLLM does, and proves and verifies a chain of segments.
func MeasureSegments(ctx context.Context, cfg *config.Config, o SegmentsOptions, ph *ui.Phases) (_ *Segments, err error) {
	defer must.Catch(&err)
	n := o.Tokens()
	float := o.Shape.open(ctx, cfg, o.Layers, &provemodel.OpenOptions{Tokens: max(n, 2), MaxTokens: 1}, ph)
	defer float.close()
	ids := float.tokens(n)
	sample := must.Get(float.TextInput(ids[:min(calibrated, max(n-1, 1))], ids[:1]))
	c := must.Get(provemodel.Commit(ctx, float.quantise(ctx, sample), &float.opts.Commit))
	m := &Segments{Shape: o.Shape.Name, Layers: float.layers, Mode: cfg.Mode}
	r := &segmentsRun{random: float, c: c, ids: ids}
	files, stored := r.chain(ctx, o.Lengths, &m.Runs)
	if m.Verify, err = r.verify(files); err != nil {
		return nil, fmt.Errorf("a chain does not verify: %v", err) // not wrapped: ErrInvalid errors are not printed
	}
	m.Reopen = must.Get(r.reopen(ctx, files, stored))
	if o.Again {
		m.Again = must.Get(r.reopen(ctx, files, nil))
	}
	if o.Whole {
		var whole []Segment
		r.chain(ctx, []int{n}, &whole)
		m.Whole = &whole[0]
	}
	m.PeakMemory, m.Devices = ui.PeakMemory(), r.dev.Stats()
	return m, nil
}

// segmentsRun is a model that proves the text ids.
type segmentsRun struct {
	*random
	c   *provemodel.Committed
	ids []int
}

// chain proves the text in segments of these lengths, all of whose tokens are given, and adds a measurement of each to list. It
// returns the proofs, and the keys and values to store beside them.
func (r *segmentsRun) chain(ctx context.Context, lengths []int, list *[]Segment) (files, stored [][]byte) {
	ch := must.Get(r.c.OpenChain(ctx, nil, nil, nil))
	at := 0
	for i, tokens := range lengths {
		before := len(r.ph.All())
		p := must.Get(r.c.ProveSegment(ctx, ch, r.ids[at:at+tokens], tokens, &r.opts.Prove))
		files, stored = append(files, p.File), append(stored, ch.Stored(i))
		s := Segment{Before: at, Tokens: tokens, ProofBytes: len(p.File), Stored: len(stored[i]), PeakMemory: ui.PeakMemory()}
		s.Prove, s.ProveCPU = took(r.ph.All()[before:])
		for _, d := range r.dev.Stats() {
			s.PeakDevice, s.DeviceWeights = max(s.PeakDevice, d.Peak), max(s.DeviceWeights, d.Resident)
		}
		*list, at = append(*list, s), at+tokens
	}
	return files, stored
}

// verify returns the time to verify a chain from its first proof on.
func (r *segmentsRun) verify(files [][]byte) (float64, error) {
	key := must.Get(provemodel.ReadKey(bytes.NewReader(r.c.KeyFile())))
	return timed(func() error {
		_, err := (&provemodel.VerifyOptions{MinBits: 1, FirstValues: 1}).Chain(key, readersOf(files)...)
		return err
	})
}

// reopen returns the time to open a chain, as another process would.
func (r *segmentsRun) reopen(ctx context.Context, files, stored [][]byte) (float64, error) {
	return timed(func() error {
		_, err := r.c.OpenChain(ctx, files, stored, &provemodel.ProveOptions{Device: r.dev})
		return err
	})
}

// timed returns the time that f takes.
func timed(f func() error) (float64, error) {
	began := time.Now()
	err := f()
	return time.Since(began).Seconds(), err
}

// readersOf returns a reader for each file.
func readersOf(files [][]byte) []io.Reader {
	return seq.Map(files, func(f []byte) io.Reader { return bytes.NewReader(f) })
}

// Print writes a row for each proof.
func (m *Segments) Print(w io.Writer) {
	fmt.Fprintf(w, "%s, %d layers; mode %s\n", m.Shape, m.Layers, m.Mode)
	header := []string{"tokens before", "tokens", "prove s", "cpu s", "proof KB", "stored KB", "host peak GB"}
	last := &m.Runs[len(m.Runs)-1]
	gpu := last.PeakDevice > 0
	if gpu {
		header = append(header, "GPU peak GB", "of that weights")
	}
	row := func(what string, s Segment) []string {
		r := ui.Cells("%s\t%d\t%.3f\t%.3f\t%.1f\t%.1f\t%.2f", what, s.Tokens, s.Prove, s.ProveCPU,
			float64(s.ProofBytes)/1e3, float64(s.Stored)/1e3, float64(s.PeakMemory)/1e9)
		if gpu {
			r = append(r, ui.Cells("%.2f\t%.2f", float64(s.PeakDevice)/1e9, float64(s.DeviceWeights)/1e9)...)
		}
		return r
	}
	rows := seq.Map(m.Runs, func(s Segment) []string { return row(fmt.Sprint(s.Before), s) })
	if m.Whole != nil {
		rows = append(rows, row("whole", *m.Whole))
	}
	ui.Table(w, header, rows)
	fmt.Fprintf(w, "\nverifying all takes %.1f ms, and opening the chain again %.1f\n", 1e3*m.Verify, 1e3*m.Reopen)
	if m.Again > 0 {
		fmt.Fprintf(w, "opening it without what is stored takes %.1f ms\n", 1e3*m.Again)
	}
	if m.Whole != nil {
		fmt.Fprintf(w, "the last segment takes %.3f of the time of one proof of all, and %.3f of its processor time\n", last.Prove/m.Whole.Prove, last.ProveCPU/m.Whole.ProveCPU)
	}
	if gpu {
		fmt.Fprintf(w, "most of a GPU beside the weights in segments: %s\n", ui.Bytes(last.PeakDevice-last.DeviceWeights))
	}
	fmt.Fprintf(w, "peak %s\n", ui.Bytes(m.PeakMemory))
}

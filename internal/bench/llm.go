package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/devices"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/resident"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/prover/math/arena"
	"github.com/prove-model/prove-model/quantise"
)

// LLM is the measurement of a language model with random weights: it is loaded, quantised
// and committed to once, and the logits after texts of several lengths are proved. Times
// are in seconds.
type LLM struct {
	Shape      string `json:"shape"`
	Layers     int    `json:"layers"`
	Parameters int    `json:"parameters"`
	Stored     int64  `json:"stored_bytes"`
	Mode       string `json:"mode"`
	MostTokens int    `json:"most_tokens"` // greatest number of tokens that the key is for
	Formats    string `json:"formats"`     // how many values have each format

	Open     float64    `json:"open_seconds"` // to map the weights and build the graph
	Phases   []ui.Phase `json:"phases"`       // up to the commitment
	KeyBytes int        `json:"key_bytes"`

	Runs       []LLMRun        `json:"runs"`
	PeakMemory int64           `json:"peak_memory_bytes"`
	Devices    []devices.Stats `json:"devices"`
}

// LLMRun is the measurement of a proof of the logits after a text of random tokens.
type LLMRun struct {
	Tokens     int        `json:"tokens"`
	Phases     []ui.Phase `json:"phases"`
	Prove      float64    `json:"prove_seconds"` // sum of the phases: forward pass, witness, proof, opening
	ProveCPU   float64    `json:"prove_cpu_seconds"`
	Verify     float64    `json:"verify_seconds"` // with reading the key; the quickest of three
	ProofBytes int        `json:"proof_bytes"`
	Security   float64    `json:"security_bits"`
	// Recomputed names what a GPU did not keep for want of memory (devices.Stats).
	Recomputed []string `json:"recomputed,omitempty"`
	// RangeError, KL and Top1 compare with the float model, if that was run. Top1 says whether the likeliest token is the
	// same.
	RangeError *float64 `json:"range_error,omitempty"`
	KL         *float64 `json:"kl,omitempty"`
	Top1       *bool    `json:"top1,omitempty"`
}

// LLMOptions say what MeasureLLM measures.
type LLMOptions struct {
	Shape  *Shape
	Layers int // 0: as many as the shape has
	Tokens []int
	Runs   int // proofs of each number of tokens, all of which are reported
	Float  int // greatest number of tokens for which the float model is run too
}

// MeasureLLM draws the weights of the model, unless the cache folder holds them,
// quantises it, commits to it, and proves and verifies the logits after each number of
// tokens. It takes nothing but the drawn weights from the cache.
func MeasureLLM(ctx context.Context, cfg *config.Config, o LLMOptions, ph *ui.Phases) (_ *LLM, err error) {
	defer must.Catch(&err)
	most := slices.Max(o.Tokens)
	r := o.Shape.open(ctx, cfg, o.Layers, &provemodel.OpenOptions{Tokens: most, LogitsAt: 1}, ph)
	defer r.close()
	before := ph.All()
	c := must.Get(provemodel.Commit(ctx, r.quantise(ctx, r.sample(most)), &r.opts.Commit))
	m := &LLM{
		Shape: o.Shape.Name, Layers: r.layers, Mode: cfg.Mode, MostTokens: most, Stored: sizeOfFolder(r.path), Parameters: r.Parameters(),
		Open: before[len(before)-1].Seconds, Phases: ph.All()[len(before):], KeyBytes: len(c.KeyFile()), Formats: histogram(c.Circuit().Report().Chosen),
	}
	for _, n := range o.Tokens {
		m.Runs = append(m.Runs, must.GetAs(r.measure(ctx, c, r.tokens(n), o))("%d tokens", n)...)
	}
	m.PeakMemory, m.Devices = ui.PeakMemory(), r.dev.Stats()
	return m, nil
}

// measure proves the logits after a text o.Runs times.
func (m *random) measure(ctx context.Context, c *provemodel.Committed, ids []int, o LLMOptions) (runs []LLMRun, err error) {
	defer must.Catch(&err)
	ph := m.ph
	inputs := must.Get(m.TextSamples([][]int{ids}))
	must.OK(fits(must.Get(c.Circuit().Estimate(inputs[0], &m.opts.Commit, &m.opts.Prove)), m.opts.Prove.MemoryBudget))
	var want []provemodel.Tensor
	if len(ids) <= o.Float {
		ph.Begin("run float model")
		want, err = m.Run(ctx, inputs[0])
		ph.End(err)
		must.OK(err)
	}
	for range o.Runs {
		r := measureRun(ctx, c, inputs[0], want, &m.opts.Prove, ph)
		r.Tokens = len(ids)
		for _, d := range m.dev.Stats() {
			if len(d.Recomputed) > len(r.Recomputed) {
				r.Recomputed = d.Recomputed
			}
		}
		if len(r.Recomputed) > 0 {
			ph.Printf("recomputed for want of memory: %s", strings.Join(r.Recomputed, ", "))
		}
		runs = append(runs, *r)
	}
	return runs, nil
}

// fits returns an error if a proof without a budget takes more memory than the system has free, in which case the system would
// kill the process. An estimate counts values twice, since the garbage collector may keep twice as much memory as is in use;
// half of it is needed in any case.
func fits(e *provemodel.Estimate, budget int64) error {
	least, free := e.Beside/2, resident.Available()
	if budget > 0 || arena.Bounded() > 0 || free == 0 || least <= free {
		return nil
	}
	return job.WithHint(fmt.Errorf("a proof takes about %s of memory beside the weights, and %s are free", ui.Bytes(least), ui.Bytes(free)),
		"--chunk-budget-gb bounds it: the rest lies in files")
}

// measureRun proves the logits after a text and verifies the proof. want are the float model's logits, nil if it was
// not run.
func measureRun(ctx context.Context, c *provemodel.Committed, in provemodel.Input, want []provemodel.Tensor, opts *provemodel.ProveOptions, ph *ui.Phases) *LLMRun {
	before := len(ph.All())
	p := must.Get(provemodel.Prove(ctx, c, in, opts))
	r := &LLMRun{Phases: ph.All()[before:], ProofBytes: len(p.File), Security: p.Strength.Total.Float()}
	r.Prove, r.ProveCPU = took(r.Phases)
	if want != nil {
		r.compare(p, want)
		ph.Printf("error %.3f %%, divergence %.2g", 100**r.RangeError, *r.KL)
	}
	file := p.File
	p = nil
	r.Verify = must.Get(verified(c.KeyFile(), file))
	return r
}

// verified returns the time that a verifier takes who has only the two files, the quickest of three. It first collects
// the prover's garbage.
func verified(vk, proof []byte) (seconds float64, err error) {
	runtime.GC()
	t := best(0, func() {
		var key *provemodel.Key
		if key, err = provemodel.ReadKey(bytes.NewReader(vk)); err == nil {
			_, err = provemodel.Verify(key, bytes.NewReader(proof), &provemodel.VerifyOptions{MinBits: 1})
		}
	})
	if err != nil { // not wrapped, as an error that wraps ErrInvalid is not printed
		return 0, fmt.Errorf("a proof does not verify: %v", err)
	}
	return t.Seconds(), nil
}

// compare sets how far the logits are from the float model's.
func (r *LLMRun) compare(p *provemodel.Proof, want []provemodel.Tensor) {
	a := must.Get(provemodel.Compare(p.Outputs[0], want[0]))
	got, float := p.Outputs[0].Values, want[0].Values
	kl, top := quantise.Divergence(got, float, len(float)), largest(got) == largest(float)
	r.RangeError, r.KL, r.Top1 = &a.RangeError, &kl, &top
}

// sizeOfFolder returns the bytes of the files in a folder.
func sizeOfFolder(path string) int64 {
	n := int64(0)
	for _, l := range must.Get(os.ReadDir(path)) {
		n += must.Get(l.Info()).Size()
	}
	return n
}

// Print writes the phases that happen once, and a row for each proof.
func (m *LLM) Print(w io.Writer) {
	fmt.Fprintf(w, "%s, %d layers, %d parameters, %s as stored; mode %s, formats %s\n", m.Shape, m.Layers, m.Parameters, ui.Bytes(m.Stored), m.Mode, m.Formats)
	rows := append([][]string{{"open", fmt.Sprintf("%.3f", m.Open), ""}}, phaseRows(m.Phases)...)
	ui.Table(w, []string{"once", "seconds", "cpu seconds"}, rows)
	fmt.Fprintln(w)
	header := []string{"tokens"}
	rows = nil
	for i, r := range m.Runs {
		row := []string{fmt.Sprint(r.Tokens)}
		for _, p := range r.Phases {
			if i == 0 {
				header = append(header, p.Name+" s")
			}
			row = append(row, fmt.Sprintf("%.3f", p.Seconds))
		}
		row = append(row, ui.Cells("%.3f\t%.3f\t%.1f\t%.1f", r.Prove, r.ProveCPU, 1e3*r.Verify, float64(r.ProofBytes)/1e3)...)
		if r.RangeError == nil {
			row = append(row, "-", "-", "-")
		} else {
			row = append(row, ui.Cells("%.3f %%\t%.2g\t%v", 100**r.RangeError, *r.KL, *r.Top1)...)
		}
		rows = append(rows, row)
	}
	ui.Table(w, append(header, "all s", "cpu s", "verify ms", "proof KB", "error", "KL", "top-1"), rows)
	fmt.Fprintf(w, "\npeak %s\n", ui.Bytes(m.PeakMemory))
}

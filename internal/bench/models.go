package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/internal/ui"
)

// Model is the measurement of one model, from the float graph to a verified proof.
// Times are in seconds.
type Model struct {
	Name       string     `json:"model"`
	Parameters int        `json:"parameters"`
	Phases     []ui.Phase `json:"phases"`
	Commit     float64    `json:"commit_seconds"` // to commit to the model, once
	CommitCPU  float64    `json:"commit_cpu_seconds"`
	Prove      float64    `json:"prove_seconds"` // the quickest run: forward pass, witness, proof
	ProveCPU   float64    `json:"prove_cpu_seconds"`
	Verify     float64    `json:"verify_seconds"` // with reading the key; the quickest of three
	ProofBytes int        `json:"proof_bytes"`
	KeyBytes   int        `json:"key_bytes"`
	PeakMemory int64      `json:"peak_memory_bytes"` // of the process so far
	Estimated  int64      `json:"estimated_memory_bytes,omitempty"`
	Security   float64    `json:"security_bits"`
	RangeError float64    `json:"range_error"` // of the worst output
	Cosine     float64    `json:"cosine"`      // of the worst output with at least eight values; 1 if there is none
	List       *List      `json:"list,omitempty"`
	Error      string     `json:"error,omitempty"`
}

// List is the measurement of several inputs, in seconds: Alone is the time of proving one
// after the other, and List that of ProveEach.
type List struct {
	Inputs int     `json:"inputs"`
	Alone  float64 `json:"alone_seconds"`
	List   float64 `json:"list_seconds"`
}

// Measure quantises and commits once, without the cache, proves `runs` times, of which the
// quickest counts, and verifies. Weights that fit stay on the device after the first proof.
// If list > 0, it also measures a list of so many inputs, which are the job's input with its
// values rotated. Warnings go to the given phases.
func Measure(ctx context.Context, cfg *config.Config, j *job.Job, runs, list int, warnings *ui.Phases) (_ *Model, err error) {
	defer must.Catch(&err)
	local := *cfg
	local.NoCache, local.NoSelfCheck = true, true
	done := must.Get(withSecret(&local))
	defer done()
	dev := must.Get(job.OpenDevice(ctx, cfg, warnings))
	defer dev.Close()
	ph := ui.NewPhases(nil, true)
	opts := job.OptionsOf(&local, ph, dev)
	circuit := must.Get(j.Quantise(ctx, opts))
	estimate := must.Get(circuit.Estimate(j.Input, &opts.Commit, &opts.Prove))
	committed := must.Get(provemodel.Commit(ctx, circuit, &opts.Commit))
	prepared := ph.All()
	var p *provemodel.Proof
	var proving []ui.Phase
	m := &Model{Name: j.Model.Name(), Parameters: j.Model.Parameters(), Estimated: estimate.Memory}
	for range runs {
		before := len(ph.All())
		p = must.Get(provemodel.Prove(ctx, committed, j.Input, &opts.Prove))
		now := ph.All()[before:]
		if seconds, cpu := took(now); proving == nil || seconds < m.Prove {
			proving, m.Prove, m.ProveCPU = now, seconds, cpu
		}
	}
	m.Phases, m.PeakMemory = slices.Concat(prepared, proving), ui.PeakMemory()
	m.ProofBytes, m.KeyBytes, m.Security = len(p.File), len(committed.KeyFile()), p.Strength.Total.Float()
	for _, p := range prepared {
		if p.Name == "commit model" {
			m.Commit, m.CommitCPU = p.Seconds, p.CPU
		}
	}
	m.compare(ctx, j, circuit, p)
	if list > 0 {
		m.List = measureList(ctx, committed, j.Input, list, &opts.Prove)
	}
	vk, proof := committed.KeyFile(), p.File
	circuit, committed, p = nil, nil, nil
	m.Verify, err = verified(vk, proof)
	return m, err
}

// measureList proves n inputs one after the other and as a list, and checks that the proofs are the same.
func measureList(ctx context.Context, c *provemodel.Committed, in provemodel.Input, n int, opts *provemodel.ProveOptions) *List {
	inputs := make([]provemodel.Input, n)
	for i := range inputs {
		for _, values := range in {
			k := i % len(values)
			inputs[i] = append(inputs[i], slices.Concat(values[k:], values[:k]))
		}
	}
	began := time.Now()
	alone := seq.Map(inputs, func(in provemodel.Input) *provemodel.Proof { return must.Get(provemodel.Prove(ctx, c, in, opts)) })
	between := time.Now()
	list := must.Get(c.ProveEach(ctx, inputs, nil, opts))
	l := &List{Inputs: n, Alone: between.Sub(began).Seconds(), List: time.Since(between).Seconds()}
	for i := range list {
		if !bytes.Equal(list[i].File, alone[i].File) {
			must.OK(fmt.Errorf("proof %d of the list is not what its input has alone", i+1))
		}
	}
	return l
}

// took returns the time that phases took, and their processor time.
func took(phases []ui.Phase) (seconds, cpu float64) {
	for _, p := range phases {
		seconds, cpu = seconds+p.Seconds, cpu+p.CPU
	}
	return seconds, cpu
}

// compare sets how far the outputs are from the float model's.
func (m *Model) compare(ctx context.Context, j *job.Job, c *provemodel.Circuit, p *provemodel.Proof) {
	m.Cosine = 1
	for i, f := range must.Get(j.Float(ctx, c)) {
		a := must.Get(provemodel.Compare(p.Outputs[i], f))
		m.RangeError = math.Max(m.RangeError, a.RangeError)
		if len(f.Values) >= 8 {
			m.Cosine = math.Min(m.Cosine, a.Cosine)
		}
	}
}

// Models are the measurements of several models.
type Models []*Model

// Print writes one row for each measurement, and a line for each list.
func (l Models) Print(w io.Writer) {
	header := []string{"model", "parameters", "commit s", "prove s", "verify ms", "proof KB", "peak GB", "bits", "max error", "cosine"}
	ui.Table(w, header, seq.Map(l, func(m *Model) []string {
		if m.Error != "" {
			return []string{m.Name, "", "", "", "", "", "", "", m.Error}
		}
		return ui.Cells("%s\t%d\t%.3f\t%.3f\t%.1f\t%.1f\t%.2f\t%.1f\t%.3f %%\t%.6f", m.Name, m.Parameters, m.Commit, m.Prove, 1e3*m.Verify,
			float64(m.ProofBytes)/1e3, float64(m.PeakMemory)/1e9, m.Security, 100*m.RangeError, m.Cosine)
	}))
	for _, m := range l {
		if l := m.List; l != nil {
			fmt.Fprintf(w, "\n%s: %d inputs one after the other %.3f s, as a list %.3f s, the same proofs\n", m.Name, l.Inputs, l.Alone, l.List)
		}
	}
}

// Print writes the phases, and the row of the measurement.
func (m *Model) Print(w io.Writer) {
	rows := append(phaseRows(m.Phases), []string{"verify", fmt.Sprintf("%.4f", m.Verify), ""})
	ui.Table(w, []string{"phase", "seconds", "cpu seconds"}, rows)
	fmt.Fprintln(w)
	Models{m}.Print(w)
}

// phaseRows returns rows of a table: the name of a phase, its seconds, and its seconds of processor time.
func phaseRows(phases []ui.Phase) [][]string {
	return seq.Map(phases, func(p ui.Phase) []string { return ui.Cells("%s\t%.3f\t%.3f", p.Name, p.Seconds, p.CPU) })
}

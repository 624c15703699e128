package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise"
)

// Bars are the limits that a quantised model must keep on a test set; 0 is no limit.
// They are the content of a folder's bars.json.
type Bars struct {
	RangeError float64 `json:"range_error"` // largest error of an output, as a fraction of its range
	Cosine     float64 `json:"cosine"`      // least cosine similarity
	KL         float64 `json:"kl"`          // largest mean divergence, in nats, of the distributions that rows of logits stand for
	Top1       float64 `json:"top1"`        // least fraction of rows with the same largest entry
	Margin     float64 `json:"margin"`      // in all rows with a larger margin in the float model, the largest entry must be the same
}

// Fidelity says how close a quantised model is to the float model on inputs that
// calibration has not seen. Rows, KL, Top1, Sure and SureAgree are set for models with
// a bar on one of them.
type Fidelity struct {
	Model      string  `json:"model"`
	Mode       string  `json:"mode"`
	Samples    int     `json:"samples"`
	Rows       int     `json:"rows"`
	Formats    string  `json:"formats"` // how many values have each format
	LookUps    int     `json:"look_ups"`
	Quantise   float64 `json:"quantise_seconds"` // for calibration and the choice of formats
	Runs       int     `json:"runs"`             // number of runs that the choice of formats took
	RangeError float64 `json:"range_error"`      // of the worst output
	Cosine     float64 `json:"cosine"`           // of the worst output
	KL         float64 `json:"kl,omitempty"`
	Top1       float64 `json:"top1,omitempty"`
	Sure       int     `json:"sure,omitempty"`       // number of rows beyond the margin
	SureAgree  int     `json:"sure_agree,omitempty"` // number of these with the same largest entry
	Saturated  int     `json:"saturated"`            // values that were clamped, over all samples
	Missed     string  `json:"missed,omitempty"`     // which bars were missed
}

// Fidelities are the results of several models.
type Fidelities []*Fidelity

// MeasureFidelity quantises the model in each folder, network.onnx, with the samples of
// calibration.npz, and compares the circuit with the float model on the samples of
// test.npz. Nothing is proved, since a proof has the same integers.
func MeasureFidelity(ctx context.Context, cfg *config.Config, folders []string, ph *ui.Phases) (all Fidelities, err error) {
	defer must.Catch(&err)
	for _, folder := range folders {
		f := must.GetAs(measureFolder(ctx, cfg, folder, ph))("%s", folder)
		ph.Printf("%s done", f.Model)
		all = append(all, f)
	}
	return all, nil
}

// measureFolder measures the model in one folder.
func measureFolder(ctx context.Context, cfg *config.Config, folder string, ph *ui.Phases) (_ *Fidelity, err error) {
	defer must.Catch(&err)
	data, err := os.ReadFile(filepath.Join(folder, "bars.json"))
	if err != nil {
		return nil, job.WithHint(err, "a folder holds network.onnx, calibration.npz, test.npz and bars.json")
	}
	var bars Bars
	must.OKAs(json.Unmarshal(data, &bars), "bars.json")
	local := *cfg
	local.Model, local.Calibration = filepath.Join(folder, "network.onnx"), []string{filepath.Join(folder, "calibration.npz")}
	local.NoCache = true
	j := must.Get(job.Open(&local))
	defer j.Close()
	arrays := must.Get(provemodel.ReadArrays(filepath.Join(folder, "test.npz")))
	tests := must.GetAs(j.Model.Samples(arrays))("test.npz")
	start := time.Now()
	c := must.Get(j.Quantise(ctx, job.OptionsOf(&local, ph, nil)))
	f := &Fidelity{Model: filepath.Base(folder), Mode: local.Mode, Samples: len(tests), Quantise: time.Since(start).Seconds(), Cosine: 1}
	f.Formats, f.LookUps = histogram(c.Report().Chosen), lookUps(c.Graph())
	if choice := c.Report().Choice; choice != nil {
		f.Runs = choice.Runs
	}
	err = bothOn(ctx, ph, j.Model, c, tests, func(_ int, float []provemodel.Tensor, run *provemodel.Run) error {
		return f.add(float, run, bars)
	})
	if f.Rows > 0 {
		f.KL, f.Top1 = f.KL/float64(f.Rows), f.Top1/float64(f.Rows)
	}
	f.Missed = bars.missed(f)
	return f, err
}

// add adds the outputs of one sample.
func (f *Fidelity) add(float []provemodel.Tensor, run *provemodel.Run, bars Bars) (err error) {
	defer must.Catch(&err)
	for _, s := range run.Saturated {
		f.Saturated += s.Count
	}
	for i, want := range float {
		got := run.Outputs[i]
		a := must.Get(provemodel.Compare(got, want))
		f.RangeError, f.Cosine = math.Max(f.RangeError, a.RangeError), math.Min(f.Cosine, a.Cosine)
		if bars.KL == 0 && bars.Top1 == 0 && bars.Margin == 0 {
			continue
		}
		size := want.Shape[len(want.Shape)-1]
		f.KL += quantise.Divergence(got.Values, want.Values, size) * float64(len(want.Values)/size)
		for at := 0; at < len(want.Values); at += size {
			f.addRow(got.Values[at:at+size], want.Values[at:at+size], bars.Margin)
		}
	}
	return nil
}

// addRow adds one row of logits.
func (f *Fidelity) addRow(got, want []float64, margin float64) {
	first := largest(want)
	same := largest(got) == first
	f.Rows++
	count(&f.Top1, same)
	second := math.Inf(-1)
	for i, x := range want {
		if i != first {
			second = math.Max(second, x)
		}
	}
	if margin > 0 && want[first]-second > margin {
		f.Sure++
		if same {
			f.SureAgree++
		}
	}
}

// missed lists the bars that were missed.
func (b Bars) missed(f *Fidelity) string {
	var list []string
	miss := func(yes bool, format string, args ...any) {
		if yes {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	miss(b.RangeError > 0 && !(f.RangeError <= b.RangeError), "an error of %.3f %% is over %.3f %%", 100*f.RangeError, 100*b.RangeError)
	miss(b.Cosine > 0 && !(f.Cosine >= b.Cosine), "a cosine of %.6f is below %g", f.Cosine, b.Cosine)
	miss(b.KL > 0 && !(f.KL <= b.KL), "a divergence of %.2g is over %.2g", f.KL, b.KL)
	miss(b.Top1 > 0 && !(f.Top1 >= b.Top1), "the largest entry of %.2f %% of the rows is below %.2f %%", 100*f.Top1, 100*b.Top1)
	miss(b.Margin > 0 && f.SureAgree != f.Sure, "%d rows with a margin above %g have another largest entry", f.Sure-f.SureAgree, b.Margin)
	return strings.Join(list, "; ")
}

// histogram says how many values have each format, written as the bits of the value and of the weights.
func histogram(chosen []quantise.Chosen) string {
	counts := map[quantise.Format]int{}
	for _, c := range chosen {
		counts[c.Format]++
	}
	if len(counts) == 0 {
		return "-"
	}
	var list []string
	for _, f := range slices.SortedFunc(maps.Keys(counts), func(a, b quantise.Format) int { return int(a.Code()) - int(b.Code()) }) {
		s := fmt.Sprint(f.Bits)
		if f.Weights > 0 {
			s += fmt.Sprintf("/%d", f.Weights)
		}
		list = append(list, fmt.Sprintf("%s×%d", s, counts[f]))
	}
	return strings.Join(list, " ")
}

// lookUps returns the number of entries that a run looks up.
func lookUps(g *model.Graph) int {
	n := 0
	for i := range g.Steps {
		if g.Steps[i].Kind == model.StepLookup {
			n += model.Size(g.Steps[i].Shape)
		}
	}
	return n
}

// Print writes a line for each model.
func (l Fidelities) Print(w io.Writer) {
	header := []string{"model", "mode", "samples", "error %", "cosine", "KL", "top-1 %", "sure", "saturated", "look-ups", "quantise s", "runs", "formats (bits/weights × values)"}
	ui.Table(w, header, seq.Map(l, func(f *Fidelity) []string {
		kl, top, sure := "-", "-", "-"
		if f.Rows > 0 {
			kl, top = fmt.Sprintf("%.2g", f.KL), fmt.Sprintf("%.2f", 100*f.Top1)
		}
		if f.Sure > 0 {
			sure = fmt.Sprintf("%d of %d", f.SureAgree, f.Sure)
		}
		return ui.Cells("%s\t%s\t%d\t%.3f\t%.6f\t%s\t%s\t%s\t%d\t%d\t%.1f\t%d\t%s", f.Model, f.Mode, f.Samples, 100*f.RangeError, f.Cosine, kl, top, sure,
			f.Saturated, f.LookUps, f.Quantise, f.Runs, f.Formats)
	}))
}

// Misses returns an error that lists the bars that each model missed; nil if none did.
func (l Fidelities) Misses() error {
	return joined(l, func(f *Fidelity) (name, wrong string) { return f.Model, f.Missed })
}

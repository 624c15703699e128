package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/ui"
)

// Accuracy compares a quantised classifier with the float model on a test set. The
// predicted class of a sample is the index of the largest output. Float and Quantised
// are the fractions of samples whose class is the label.
type Accuracy struct {
	Model     string  `json:"model"`
	Samples   int     `json:"samples"`
	Float     float64 `json:"float_accuracy"`
	Quantised float64 `json:"quantised_accuracy"`
	Agreement float64 `json:"agreement"` // fraction of samples for which both models give the same class
}

// Print writes the figures as text.
func (a *Accuracy) Print(w io.Writer) {
	fmt.Fprintf(w, "%s on %d samples: float %.2f %%, quantised %.2f %% right; they agree on %.2f %%\n",
		a.Model, a.Samples, 100*a.Float, 100*a.Quantised, 100*a.Agreement)
}

// labelled is the part of a test file that ReadArrays does not read.
type labelled struct {
	Labels []int `json:"labels"`
}

// MeasureAccuracy runs both models on every sample of a test file, which is JSON with
// "input_data" (the samples end to end) and "labels".
func MeasureAccuracy(ctx context.Context, cfg *config.Config, test string, ph *ui.Phases) (_ *Accuracy, err error) {
	defer must.Catch(&err)
	j := must.Get(job.Open(cfg))
	defer j.Close()
	samples, labels, err := readTest(j.Model, test)
	must.OKAs(err, "test set %s", test)
	c := must.Get(j.Quantise(ctx, job.OptionsOf(cfg, ph, nil)))
	a := &Accuracy{Model: j.Model.Name(), Samples: len(samples)}
	err = bothOn(ctx, ph, j.Model, c, samples, func(i int, float []provemodel.Tensor, run *provemodel.Run) error {
		f, q := largest(float[0].Values), largest(run.Outputs[0].Values)
		count(&a.Float, f == labels[i])
		count(&a.Quantised, q == labels[i])
		count(&a.Agreement, f == q)
		return nil
	})
	for _, x := range []*float64{&a.Float, &a.Quantised, &a.Agreement} {
		*x /= float64(len(samples))
	}
	return a, err
}

// bothOn runs the float model and the circuit on each sample, and calls each with the results.
func bothOn(ctx context.Context, ph *ui.Phases, m *provemodel.Model, c *provemodel.Circuit, samples []provemodel.Input,
	each func(i int, float []provemodel.Tensor, run *provemodel.Run) error) (err error) {
	ph.Begin("test")
	defer func() { ph.End(err) }()
	for i, sample := range samples {
		ph.Progress(i, len(samples))
		float, err := m.Run(ctx, sample)
		if err != nil {
			return fmt.Errorf("sample %d: %w", i, err)
		}
		run, err := c.Run(ctx, sample)
		if err == nil {
			err = each(i, float, run)
		}
		if err != nil {
			return fmt.Errorf("sample %d: %w", i, err)
		}
	}
	return nil
}

// readTest reads the samples and labels of a test file.
func readTest(m *provemodel.Model, path string) (samples []provemodel.Input, labels []int, err error) {
	defer must.Catch(&err)
	samples = must.Get(m.Samples(must.Get(provemodel.ReadArrays(path))))
	var l labelled
	must.OK(json.Unmarshal(must.Get(os.ReadFile(path)), &l))
	if len(l.Labels) != len(samples) {
		return nil, nil, fmt.Errorf("%d samples, but %d labels", len(samples), len(l.Labels))
	}
	return samples, l.Labels, nil
}

// largest returns the index of the largest number.
func largest(v []float64) int { return slices.Index(v, slices.Max(v)) }

// count adds 1 to x if yes is set.
func count(x *float64, yes bool) {
	if yes {
		*x++
	}
}

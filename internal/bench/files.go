package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/ui"
)

// Limits are the limits that a model must keep; 0 is no limit.
type Limits struct {
	RangeError float64 // largest error of an output, as a fraction of its range
	Cosine     float64 // least cosine similarity of an output with at least eight values
}

// Files measures models: ONNX files, each on a random input, and folders with a network.onnx and an input.json. Each is
// proved `runs` times, and on `list` inputs as a list. A problem with one model is noted in its Error; only an interruption
// ends the whole measurement.
func Files(ctx context.Context, cfg *config.Config, paths []string, limits Limits, runs, list int, ph *ui.Phases) (all Models, err error) {
	for _, path := range paths {
		m, err := measureFile(ctx, cfg, path, runs, list, ph)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil {
			err = limits.check(m)
		}
		if err != nil {
			m = &Model{Error: err.Error()}
		}
		m.Name = filepath.Base(path)
		all = append(all, m)
		ph.Printf("%s done", m.Name)
	}
	return all, nil
}

// measureFile measures the model in one file or folder.
func measureFile(ctx context.Context, cfg *config.Config, path string, runs, list int, ph *ui.Phases) (_ *Model, err error) {
	defer must.Catch(&err)
	local := *cfg
	local.Model, local.Input = path, nil
	if must.Get(os.Stat(path)).IsDir() {
		local.Model, local.Input = filepath.Join(path, "network.onnx"), []string{filepath.Join(path, "input.json")}
	}
	j := must.Get(job.Open(&local))
	defer j.Close()
	return Measure(ctx, &local, j, runs, list, ph)
}

// check returns an error if a measurement is beyond a limit.
func (l Limits) check(m *Model) error {
	if l.RangeError > 0 && !(m.RangeError <= l.RangeError) {
		return fmt.Errorf("error of %.3f %% of the output's range is over %.3f %%", 100*m.RangeError, 100*l.RangeError)
	}
	if l.Cosine > 0 && !(m.Cosine >= l.Cosine) {
		return fmt.Errorf("cosine similarity %.6f is below %.6f", m.Cosine, l.Cosine)
	}
	return nil
}

// Failures joins the errors of all models.
func (l Models) Failures() error {
	return joined(l, func(m *Model) (name, wrong string) { return m.Name, m.Error })
}

// joined returns an error that lists the measurements for which `of` says that something is wrong.
func joined[T any](all []T, of func(T) (name, wrong string)) error {
	var errs []error
	for _, m := range all {
		if name, wrong := of(m); wrong != "" {
			errs = append(errs, fmt.Errorf("%s: %s", name, wrong))
		}
	}
	return errors.Join(errs...)
}

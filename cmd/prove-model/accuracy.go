package main

import (
	"fmt"
	"io"
	"math"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/cmd/prove-model/internal/job"
	"github.com/prove-model/prove-model/cmd/prove-model/internal/ui"
	"github.com/prove-model/prove-model/config"
)

// usualBar is the part of an output's range beyond which a run is warned about
// if nothing else is said.
const usualBar = 0.01

// fidelity says how far a run is from the float model, and what to do about it.
type fidelity struct {
	Bar       float64                 `json:"bar"` // of each output's range_error
	WithinBar bool                    `json:"within_bar"`
	Saturated []provemodel.Saturation `json:"saturated"`
	Advice    string                  `json:"advice,omitempty"`
}

func fidelityOf(cfg *config.Config, outputs []compared, saturated []provemodel.Saturation) fidelity {
	f := fidelity{Bar: usualBar, WithinBar: true, Saturated: saturated}
	if cfg.MaxError > 0 {
		f.Bar = cfg.MaxError
	}
	for _, o := range outputs {
		f.WithinBar = f.WithinBar && o.RangeError <= f.Bar
	}
	if len(saturated) > 0 || !f.WithinBar {
		f.Advice = job.AccuracyAdvice(cfg, saturated)
	}
	return f
}

func (f *fidelity) print(w io.Writer) {
	for _, s := range f.Saturated {
		fmt.Fprintf(w, "saturated   %s\n", ui.Printable(s.String()))
	}
	if len(f.Saturated) > 0 {
		fmt.Fprintf(w, "advice      %s\n", f.Advice)
	}
}

// warning is what nobody should miss, or "".
func (p *proved) warning() string {
	if p.WithinBar {
		return ""
	}
	worst := p.Outputs[0]
	for _, o := range p.Outputs {
		if o.RangeError > worst.RangeError {
			worst = o
		}
	}
	return fmt.Sprintf("WARNING: THE OUTPUT IS FAR FROM THE FLOAT MODEL'S: %s IS OFF BY %.3g %% OF ITS RANGE, MORE THAN %.3g %%. THE PROOF HOLDS, FOR A POOR COPY OF THE MODEL.\n         %s",
		ui.Printable(worst.Name), math.Min(100*worst.RangeError, 1e9), 100*p.Bar, p.Advice)
}

// inaccurate is the result of a run that --max-error does not let pass.
type inaccurate struct {
	Model  string `json:"model"`
	Reason string `json:"reason"`
	Output string `json:"output"` // the worst
	provemodel.Accuracy
	fidelity
}

func inaccurateOf(cfg *config.Config, err *provemodel.AccuracyError) *inaccurate {
	return &inaccurate{
		cfg.Model, err.Error(), err.Output, err.Accuracy,
		fidelity{Bar: err.Limit, Saturated: err.Saturated, Advice: job.AccuracyAdvice(cfg, err.Saturated)},
	}
}

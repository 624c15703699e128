package main

import (
	"fmt"
	"io"
	"math"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/prover/statement"
)

// A run that differs from the float model by more than these limits is a poor copy, and is warned about, unless
// --max-error is given (docs/quantisation.md, "Accuracy and saturation").
const (
	acceptedRange  = 0.01 // fraction of an output's range; also for the regret of a label
	acceptedKL     = 0.01 // nats, mean over the positions of a language model's logits
	acceptedRegret = 0.5  // largest likeness.Regret
)

// Values of fidelity.JudgedBy.
const (
	byMaxError = "max-error"
	byLogits   = "logits"
	byRange    = "range"
)

// fidelity says whether a run is close enough to the float model, and what would make it closer.
type fidelity struct {
	Bar       float64                `json:"bar"` // limit of range_error of each output
	WithinBar bool                   `json:"within_bar"`
	JudgedBy  string                 `json:"judged_by"`
	Reference string                 `json:"reference,omitempty"` // the program of --check
	Saturated []statement.Saturation `json:"saturated"`
	Advice    string                 `json:"advice,omitempty"`
}

// judged has the outputs of a run beside the float model's, and the verdict on how close they are.
type judged struct {
	Outputs []compared `json:"outputs"`
	fidelity
	likeness
}

// fidelityOf judges a run: by --max-error if it is given; by the divergence and regret of a language model's logits; or by the
// range errors and labels of other outputs.
func fidelityOf(cfg *config.Config, outputs []compared, logits likeness, saturated []statement.Saturation) fidelity {
	f := fidelity{Bar: acceptedRange, WithinBar: true, JudgedBy: byRange, Reference: cfg.Check, Saturated: saturated}
	switch {
	case cfg.MaxError > 0:
		f.Bar, f.JudgedBy = cfg.MaxError, byMaxError
		for _, o := range outputs {
			f.WithinBar = f.WithinBar && o.RangeError <= f.Bar
		}
	case logits.KL != nil:
		f.JudgedBy = byLogits
		f.WithinBar = *logits.KL <= acceptedKL && *logits.Regret <= acceptedRegret
	default:
		for _, o := range outputs {
			f.WithinBar = f.WithinBar && o.RangeError <= acceptedRange && o.LabelRegret <= acceptedRange && o.Unequal == o.Ties
		}
	}
	if len(saturated) > 0 || !f.WithinBar {
		f.Advice = job.AccuracyAdvice(cfg, saturated)
	}
	return f
}

func (f *fidelity) Print(w io.Writer) {
	ui.LineIf(f.Reference != "", w, "float by", "%s", f.Reference)
	for _, s := range f.Saturated {
		ui.Line(w, "saturated", "%s", s.String())
	}
	ui.LineIf(len(f.Saturated) > 0, w, "advice", "%s", f.Advice)
}

// warning returns the warning about a poor copy, or else about results that other runtimes may not share; "" if there
// is none.
func (p *judged) warning() string {
	if p.WithinBar {
		return p.otherRuntimes()
	}
	return fmt.Sprintf("WARNING: THE OUTPUT IS FAR FROM THE FLOAT MODEL'S: %s. THE PROOF HOLDS, FOR A POOR COPY OF THE MODEL.\n         %s", p.why(), p.Advice)
}

// otherRuntimes warns about casts that another runtime may round to the other side, and about numbers that float32 cannot hold. A
// comparison with a single float model does not show these.
func (p *judged) otherRuntimes() string {
	for _, o := range p.Outputs {
		if o.Accuracy.NearWhole > 0 {
			return fmt.Sprintf("WARNING: %s FOLLOWS FROM %d VALUES THAT ARE CAST TO INTEGERS AND NEARER TO A WHOLE NUMBER THAN FLOAT32 IS EXACT.\n"+
				"         Another runtime may have the next integer there: round before the cast, or compare with --check onnxruntime.", ui.Printable(o.Name), o.Accuracy.NearWhole)
		}
		if o.Accuracy.Beyond > 0 {
			return fmt.Sprintf("WARNING: %s FOLLOWS FROM %d VALUES THAT FLOAT32 HAS AS AN INFINITY, OR AS A 0 TO DIVIDE BY.\n"+
				"         A runtime in float32 may have another output there: clip them in the model, or compare with --check onnxruntime.", ui.Printable(o.Name), o.Accuracy.Beyond)
		}
	}
	return ""
}

// why says what makes a run a poor copy.
func (p *judged) why() string {
	if p.JudgedBy == byLogits {
		if *p.KL > acceptedKL {
			return fmt.Sprintf("KL %.2g OF ITS NEXT TOKENS, MORE THAN %.2g", *p.KL, acceptedKL)
		}
		return fmt.Sprintf("A TOKEN IS THE LIKELIEST THAT THE FLOAT MODEL HAS %.2g BEHIND ITS OWN IN LOGITS, MORE THAN %.2g", *p.Regret, acceptedRegret)
	}
	worst, label, unequal := p.Outputs[0], p.Outputs[0], p.Outputs[0]
	for _, o := range p.Outputs {
		if o.Unequal == 0 && (worst.Unequal > 0 || o.RangeError > worst.RangeError) {
			worst = o
		}
		if o.LabelRegret > label.LabelRegret {
			label = o
		}
		if o.Unequal-o.Ties > unequal.Unequal-unequal.Ties {
			unequal = o
		}
	}
	switch {
	case worst.Unequal == 0 && worst.RangeError > p.Bar:
	case unequal.Unequal > unequal.Ties:
		return fmt.Sprintf("%d OF THE %d INTEGERS OF %s ARE NOT THE FLOAT MODEL'S: ENTRY %d IS %.10g, AND %.10g THERE",
			unequal.Unequal-unequal.Ties, len(unequal.Values), ui.Printable(unequal.Name), unequal.At, unequal.Values[unequal.At], unequal.Float[unequal.At])
	default:
		return fmt.Sprintf("THE LABEL OF %s IS ONE THAT THE FLOAT MODEL HAS %.3g %% OF THE RANGE BEHIND ITS OWN, MORE THAN %.3g %%",
			ui.Printable(label.Name), 100*label.LabelRegret, 100*p.Bar)
	}
	return fmt.Sprintf("%s IS OFF BY %.3g %% OF ITS RANGE, MORE THAN %.3g %%", ui.Printable(worst.Name), math.Min(100*worst.RangeError, 1e9), 100*p.Bar)
}

// inaccurate is the result of a run that --max-error refuses.
type inaccurate struct {
	Model  string `json:"model"`
	Reason string `json:"reason"`
	Output string `json:"output"` // the output with the largest error
	provemodel.Accuracy
	fidelity
}

func inaccurateOf(cfg *config.Config, err *provemodel.AccuracyError) *inaccurate {
	return &inaccurate{
		cfg.Model, err.Error(), err.Output, err.Accuracy,
		fidelity{Bar: err.Limit, JudgedBy: byMaxError, Reference: cfg.Check, Saturated: err.Saturated, Advice: job.AccuracyAdvice(cfg, err.Saturated)},
	}
}

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

// A run that differs from the float model by more than these is a poor copy, and warned about, unless --max-error is given
// (docs/quantisation.md, "Accuracy and saturation").
const (
	acceptedRange  = 0.01 // of the range of an output, also for a label that is not the float model's
	acceptedKL     = 0.01 // nats, in the mean over the positions of a language model's logits
	acceptedRegret = 0.5  // how far the float model has our likeliest token behind its own, in logits
)

// Values of fidelity.JudgedBy.
const (
	byMaxError = "max-error"
	byLogits   = "logits"
	byRange    = "range"
)

// fidelity says how far a run is from the float model, and what to do about it.
type fidelity struct {
	Bar       float64                `json:"bar"` // of each output's range_error
	WithinBar bool                   `json:"within_bar"`
	JudgedBy  string                 `json:"judged_by"`
	Reference string                 `json:"reference,omitempty"` // what --check names
	Saturated []statement.Saturation `json:"saturated"`
	Advice    string                 `json:"advice,omitempty"`
}

// judged is how far outputs are from the float model's, and what is thought of it.
type judged struct {
	Outputs []compared `json:"outputs"`
	fidelity
	likeness
}

// fidelityOf judges a run: by --max-error, or the logits of a language model by what they say of next tokens, or other outputs by
// their range and their labels.
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

// warning is what nobody should miss, or "".
func (p *judged) warning() string {
	if p.WithinBar {
		return p.otherRuntimes()
	}
	return fmt.Sprintf("WARNING: THE OUTPUT IS FAR FROM THE FLOAT MODEL'S: %s. THE PROOF HOLDS, FOR A POOR COPY OF THE MODEL.\n         %s", p.why(), p.Advice)
}

// otherRuntimes warns of casts that another runtime may round to the other side, and of numbers that float32 does not hold, which no
// comparison with one float model shows.
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

// why is what of a run is beyond its bar.
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
		fidelity{Bar: err.Limit, JudgedBy: byMaxError, Reference: cfg.Check, Saturated: err.Saturated, Advice: job.AccuracyAdvice(cfg, err.Saturated)},
	}
}

package quantise

import (
	"github.com/prove-model/prove-model/quantise/fixed"
	"github.com/prove-model/prove-model/quantise/lower"
	"github.com/prove-model/prove-model/quantise/precision"
)

type (
	// Options are the choices the caller may make. Zero values mean the default.
	Options = lower.Options
	// A Format says how precise a value of the float graph is to be, where that is
	// not what all values of the model have in common.
	Format = lower.Format
	// Formats are the formats of values by name: graph inputs and node outputs.
	Formats = lower.Formats
	// Range tells which real values calibration met: their interval, and the
	// smallest magnitude among them.
	Range = lower.Range
	// Chosen is a value with a format of its own, and what its node costs.
	Chosen = lower.Chosen
	// Saturated counts entries of a run at one node.
	Saturated = lower.Saturated
	// StepReport is the precision of one rounding look-up.
	StepReport = fixed.StepReport

	// A Sample is an input that formats are judged with: the float graph in its size,
	// its values, and what the float model makes of them, if that is known.
	Sample = precision.Sample
	// FloatRun is what is needed of a run of the float model: its outputs, and of each
	// value the error of rounding it to whole numbers.
	FloatRun = precision.FloatRun
	// Choice is how formats were chosen.
	Choice = precision.Choice
	// Accuracy compares a quantised output with the float one.
	Accuracy = precision.Accuracy
)

const (
	// Target is the error of the outputs, in units of their range, that formats are
	// chosen for by default.
	Target = lower.Target
	// MostSamples is how many samples formats are judged with: the first ones.
	MostSamples = precision.MostSamples
)

// What packages lower and precision say of them is there.
var (
	Ranges   = lower.Ranges
	RangesOf = lower.RangesOf
	RangeIn  = lower.RangeIn
	RangeOf  = lower.RangeOf
	FormatOf = lower.FormatOf
	Kept     = lower.Kept
	Values   = lower.Values
	Batch    = lower.Batch
	Pair     = lower.Pair
	Length   = lower.Length
	Written  = lower.Written

	NewFloatRun = precision.NewFloatRun
	Compare     = precision.Compare
	Divergence  = precision.Divergence
)

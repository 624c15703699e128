package quantise

import (
	"github.com/prove-model/prove-model/quantise/fixed"
	"github.com/prove-model/prove-model/quantise/lower"
	"github.com/prove-model/prove-model/quantise/precision"
)

// These names of the packages fixed, lower and precision are for other packages, and are documented where
// they are declared.
type (
	Options    = lower.Options
	Format     = lower.Format
	Formats    = lower.Formats
	Range      = lower.Range
	Chosen     = lower.Chosen
	Saturated  = lower.Saturated
	StepReport = fixed.StepReport

	Sample   = precision.Sample
	Choice   = precision.Choice
	Accuracy = precision.Accuracy
)

const (
	Target      = lower.Target
	MostSamples = precision.MostSamples
)

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

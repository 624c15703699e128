package quantise

import (
	"github.com/prove-model/prove-model/graph"
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

// Ranges returns the range of every tensor over the given runs of the float
// model (each: values by tensor name, inputs included).
func Ranges(runs ...map[string][]float64) map[string]Range { return lower.Ranges(runs...) }

// RangesOf is Ranges of runs of g, of whose inputs and outputs that may not be finite only
// the finite values count.
func RangesOf(g *graph.Graph, runs ...map[string][]float64) map[string]Range {
	return lower.RangesOf(g, runs...)
}

// RangeIn returns the range of a value of g, as RangesOf does.
func RangeIn(g *graph.Graph, name string, values []float64) Range {
	return lower.RangeIn(g, name, values)
}

// RangeOf is the inverse of Range.Codes. It refuses codes that no rounded range has.
func RangeOf(codes [3]uint32) (Range, error) { return lower.RangeOf(codes) }

// FormatOf is the inverse of Format.Code. It refuses codes that no format has.
func FormatOf(code uint32) (Format, error) { return lower.FormatOf(code) }

// Values lists the names of the inputs of a float model, then of what its nodes
// compute, in order.
func Values(g *graph.Graph) []string { return lower.Values(g) }

// Batch returns the symbol of the batch: the leading axis of every input, which
// the model leaves open. It is "" if there is none, or if an input has no elements that
// would tell its size.
func Batch(g *graph.Graph) string { return lower.Batch(g) }

// Pair returns the float model for a batch of two, whose values a model with a free
// batch has ranges of.
func Pair(g *graph.Graph) (*graph.Graph, error) { return lower.Pair(g) }

// Length returns the symbol of the length of a text: the second axis of all inputs,
// which are integers of shape [1, length], if the model leaves it open and nothing
// else. Lists of integers of fixed length, such as positions of the text, may follow
// the first. It is "" if there is none.
func Length(g *graph.Graph) string { return lower.Length(g) }

// Written returns the symbol of the length of a list of integers that a model of texts leaves open
// beside that of the text, such as that of the positions whose logits it gives. It is "" if there is none.
func Written(g *graph.Graph) string { return lower.Written(g) }

// NewFloatRun returns the run of a graph, to which FloatRun.Add adds the values.
func NewFloatRun(g *graph.Graph) *FloatRun { return precision.NewFloatRun(g) }

// Compare returns the accuracy of got against want, which are of one length.
func Compare(got, want []float64) Accuracy { return precision.Compare(got, want) }

// Divergence is the mean over rows of the Kullback–Leibler divergence, in nats, of
// the distributions whose logits are the rows: of got from want.
func Divergence(got, want []float64, row int) float64 { return precision.Divergence(got, want, row) }

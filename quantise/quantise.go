// Package quantise turns a floating-point graph (package graph) into a
// quantised one (package model): integers with a power-of-two scale per
// tensor, static bounds proved from the actual weights, every rounding and
// clamp a table look-up (docs/quantisation.md).
//
// It is separate from package model because the verifier imports model and
// must not import float models.
//
// Other packages call this one: Quantise with given formats, Choose to search for formats, and Layers for
// a report. Of the packages below it, precision searches, lower lowers operators, weights rounds
// constants, and fixed makes the circuit.
package quantise

import (
	"context"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/lower"
	"github.com/prove-model/prove-model/quantise/precision"
)

// Version changes whenever Quantise begins to make a different graph or different
// weights from the same model, ranges and options. A key records it, so that whoever
// has the model knows whether quantising it again can be expected to give the
// same key.
const Version = 14

// Model is a quantised model: the public circuit, the weights that the key
// commits to, and what is needed to move inputs and outputs between real
// numbers and integers.
type Model = lower.Result

// Quantise quantises fg. ranges holds the calibrated range of every graph
// input and node output (Ranges of what RunFloat returned); it may come from a
// batch of another size than fg's.
//
// If the leading axis of all inputs is a batch that the model leaves open, it becomes
// a free dimension of the circuit, and the circuit does not depend on the size that fg
// has. If the circuit depends on the batch's size in another way than by repeating
// itself for each element, it is for fg's size alone, and Model.OneBatch says why. With
// opts.Length the length of texts is a free dimension as well, up to that length; it is
// an error if it cannot be one.
//
// The error names every node that cannot be quantised, with the reason.
func Quantise(fg *graph.Graph, ranges map[string]Range, opts Options) (*Model, error) {
	return lower.Quantise(fg, ranges, opts)
}

// Choose searches for formats with which the outputs of the integer model are within opts.Target
// of the float model's on the samples, and returns the model with the best formats that it
// found. It begins with the formats that the mode has for all values; without samples, it keeps
// these. Then it makes values
// more precise where errors enter, the largest errors first, in groups of values that are alike.
// In the end, in mode "auto", it takes back formats that the target does not need. Large
// transformers have few attempts, and begin with formats that suit most transformers. The
// choice depends on the arguments alone.
func Choose(ctx context.Context, fg *graph.Graph, samples []Sample, ranges map[string]Range, opts Options) (*Model, *Choice, error) {
	return precision.Choose(ctx, fg, samples, ranges, opts)
}

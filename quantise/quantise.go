// Package quantise turns a floating-point graph (package graph) into a
// quantised one (package model): integers with a power-of-two scale per
// tensor, static bounds proved from the actual weights, every rounding and
// clamp a table look-up (docs/quantisation.md).
//
// It is a package apart from model because the verifier imports model and
// must not import float models.
//
// What other packages call is here: Quantise with given formats, Choose to search for them, and reports. Package
// precision searches, lower lowers operators, weights rounds constants, and fixed makes the
// circuit.
package quantise

import (
	"context"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/lower"
	"github.com/prove-model/prove-model/quantise/precision"
)

// Version changes whenever Quantise makes another graph or other weights of a
// model, its ranges and its options than before: a key names it, so that whoever
// has the model knows whether quantising it again can be expected to give the
// same.
const Version = 14

// Model is a quantised model: the public circuit, the weights that the key
// commits to, and what is needed to move inputs and outputs between real
// numbers and integers.
type Model = lower.Result

// Quantise quantises fg. ranges holds the calibrated range of every graph
// input and node output (Ranges of what RunFloat returned), whatever the size of
// the batch.
//
// If the leading axis of all inputs is one that the model leaves open, it is a
// free dimension of the circuit, which does not depend on fg's size of it then;
// unless what the model computes depends on it in another way than by repeating
// itself, which Model.OneBatch tells. With opts.Length the length of texts is one, up
// to that, and it is an error if it cannot be.
//
// The error names every node that cannot be quantised, with the reason.
func Quantise(fg *graph.Graph, ranges map[string]Range, opts Options) (*Model, error) {
	return lower.Quantise(fg, ranges, opts)
}

// Choose chooses the formats with which the integer model is within opts.Target on the
// samples, if there are any, and returns the model with them. It begins with those that the
// mode has for all values, and makes values more precise where errors enter, the largest
// first, in groups of values that are alike; then it takes back what was not needed. Large
// transformers have few attempts, and begin with formats that suit most of them. What it
// chooses depends on its arguments alone.
func Choose(ctx context.Context, fg *graph.Graph, samples []Sample, ranges map[string]Range, opts Options) (*Model, *Choice, error) {
	return precision.Choose(ctx, fg, samples, ranges, opts)
}

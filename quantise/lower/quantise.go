package lower

import (
	"cmp"
	"fmt"
	"math"
	"sync"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
	"github.com/prove-model/prove-model/quantise/weights"
)

// Lower quantises the float model fg with calibrated ranges, by the names of values: it makes the circuit, with the free
// dimensions that the model leaves open. It does not make the weights (Memory.Fill). memory holds what an earlier call for the same
// graph has computed, and remembers what this one does.
func Lower(fg *graph.Graph, ranges map[string]Range, opts Options, memory *Memory) (m *Result, err error) {
	opts, err = opts.WithDefaults()
	if err != nil {
		return nil, err
	}
	if opts.Hide {
		ranges = onGrid(fg, ranges)
	}
	var oneBatch error
	length, batch := Length(fg), Batch(fg)
	if opts.Length <= 0 {
		length = ""
	}
	if open := cmp.Or(length, batch); open != "" {
		if err = refuse.Caught(func() { m = memory.variantsOf(fg, opts.Length, length, batch).quantiseFree(ranges, opts, memory) }); err == nil {
			return m, nil
		}
		oneBatch = fmt.Errorf("dimension %q: %w", open, err)
	}
	if length != "" {
		return nil, oneBatch
	}
	err = refuse.Caught(func() {
		checkRanges(fg, ranges)
		l := newLowering(fg, ranges, opts, memory).choose()
		m = l.finish(&model.Template{Graph: l.Circuit}, model.Instance{})
		m.OneBatch = oneBatch
	})
	return m, err
}

// Values lists the names of the inputs of a float model and then those of its nodes'
// results, in order.
func Values(fg *graph.Graph) []string {
	var names []string
	for _, v := range fg.Inputs {
		names = append(names, v.Name)
	}
	for _, n := range fg.Nodes {
		names = append(names, n.Output)
	}
	return names
}

// checkRanges refuses ranges in which an input or a node's result has none, or one that is not finite.
func checkRanges(fg *graph.Graph, ranges map[string]Range) {
	for _, in := range fg.Inputs {
		if r, ok := ranges[in.Name]; !ok {
			refuse.With("no calibrated range for input %q", in.Name)
		} else if r.Abs() >= infinity {
			refuse.With("input %q has −∞, or a number that stands for it: fix the input, as a mask that is part of the model", in.Name)
		}
	}
	for _, n := range fg.Nodes {
		r, ok := ranges[n.Output]
		refuse.If(!ok, "no calibrated range for %q", n.Output)
		if math.IsNaN(r.Min+r.Max) || math.IsInf(r.Min, 0) || math.IsInf(r.Max, 0) {
			refuse.With("%s: the float model gives values that are not finite%s", describe(n), domain(n.Op))
		}
	}
}

// domain returns text for an error message that says where a function is defined; "" if that is everywhere.
func domain(op graph.Op) string {
	s, ok := op.(graph.Scalar)
	if !ok || s.Func.Domain == (graph.Domain{}) {
		return ""
	}
	return fmt.Sprintf(": %s is defined on [%g, %g]", s.Func.Name, s.Func.Domain.Lo, s.Func.Domain.Hi)
}

// describe names a node in an error message.
func describe(n *graph.Node) string { return fmt.Sprintf("node %q (%s)", n.Name, graph.Kind(n.Op)) }

// Quantise is Lower, and makes the weights as well.
func Quantise(fg *graph.Graph, ranges map[string]Range, opts Options) (*Result, error) {
	memory := &Memory{}
	r, err := Lower(fg, ranges, opts, memory)
	if err != nil {
		return nil, err
	}
	return r, memory.Finish(r, opts.Base, fg)
}

// Memory is what passes over one float graph remember for later passes, so that large weights,
// columns and masks are not gone through again. The zero value is empty.
type Memory struct {
	weights  weights.Store
	columns  fixed.Recall[*fixed.Column]
	mu       sync.Mutex
	bands    map[*graph.Tensor]*fixed.Band // the bands of diagonals of masks, guarded by mu
	variants *variants                     // the float graph for several sizes of its free dimensions
	// Of functions, by keys with all that the result depends on:
	lines  fixed.Recall[*lineColumns]
	closer fixed.Recall[bool]    // whether lines are closer than a table (straighter)
	useful fixed.Recall[float64] // the magnitude beyond which a function is flat (flatBeyond)
	most   fixed.Recall[float64] // the largest magnitude of its values (keyWithin)
}

// variantsOf returns the variants of a model with a free length of texts, up to most, or, if length is "", with a free
// batch. length and batch are the symbols of these dimensions.
func (m *Memory) variantsOf(fg *graph.Graph, most int, length, batch string) *variants {
	switch v := m.variants; {
	case v != nil && v.of == fg && v.texts == (length != "") && (!v.texts || v.most == most):
	case length != "":
		m.variants = textsOf(fg, most)
	default:
		m.variants = batchesOf(fg, batch)
	}
	return m.variants
}

// Fill makes a model's weights, unless it has them (weights.Store).
func (m *Memory) Fill(of *Result) {
	if of.Making.Done {
		return
	}
	m.weights.Fill(of.Making)
}

// Finish is Fill for a model that keeps its weights. A model that is an adapter to base gets the base's fixed tensors
// (Base.graft). fg is its float model.
func (m *Memory) Finish(of *Result, base *Base, fg *graph.Graph) error {
	m.Fill(of)
	of.Making = nil
	return base.graft(of, fg)
}

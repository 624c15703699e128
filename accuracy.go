package provemodel

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/prover/statement"
	"github.com/prove-model/prove-model/quantise"
)

// Accuracy says how far an output of a circuit is from the float model's output.
type Accuracy struct {
	MaxError   float64 `json:"max_error"`   // largest absolute difference of two entries
	RangeError float64 `json:"range_error"` // MaxError divided by the float output's range, extended to contain 0; labels: see below
	At         int     `json:"at"`          // the entry with the largest difference, in row-major order
	Cosine     float64 `json:"cosine"`      // cosine of the angle between the two outputs
	Unequal    int     `json:"unequal"`     // number of entries of an integer type that differ from the float model's
	// Labels is the number of entries if each is a label, that is, says which of some scores is the greatest; else 0. Ties
	// counts the unequal labels for which the float model's two greatest scores are closer than a hundredth of the range of all
	// scores. TieAt is the entry of the widest tie, and TieMargin the distance of its two scores in units of that range. For
	// labels, RangeError is the fraction of labels that are unequal and no ties.
	Labels    int     `json:"labels,omitempty"`
	Ties      int     `json:"ties,omitempty"`
	TieAt     int     `json:"tie_at,omitempty"`
	TieMargin float64 `json:"tie_margin,omitempty"`
	// TieEdge says that there are ties at the edge of a selection such as TopK: the last selected score and the first score that
	// is not selected are closer than a thousandth of the range of all scores, for example because two neighbours are at the
	// same distance. For the widest of these ties, TieIn is the index of the former score and TieOut of the latter. Ties at an
	// edge are also counted for outputs that are not labels; there they are the entries off by more than a thousandth of the
	// output's range.
	TieEdge bool `json:"tie_edge,omitempty"`
	TieIn   int  `json:"tie_in,omitempty"`
	TieOut  int  `json:"tie_out,omitempty"`
	// NearWhole is how many values that the output depends on are cast to integers and are so close to a whole number that
	// rounding errors of float32 may decide on which side they are. Another runtime may get the neighbouring integer, whatever
	// this circuit has.
	NearWhole int `json:"near_whole,omitempty"`
	// Beyond is how many values that the output depends on float32 cannot hold: results of Exp that are too large, and numbers that
	// are so small that they become 0 before something is divided by them or their logarithm is taken. A runtime in float32 has an
	// infinity there, whatever this circuit has.
	Beyond int `json:"beyond_float32,omitempty"`
}

// edgeError is the least error of an entry, as a fraction of the output's range, that counts as a tie if the entry
// depends on a tie at the edge of a selection. Smaller errors count as errors of rounding.
const edgeError = 0.001

// tieMargin is the greatest distance of two scores that tie, as a fraction of the range of all scores.
const tieMargin = 0.01

// Compare measures how far an output of a circuit is from the float model's output of
// the same name. It returns an error if the float model's output has an entry that is
// not finite, unless the circuit's entry is the same infinity or also NaN.
func Compare(quantised, float Tensor) (Accuracy, error) {
	if len(quantised.Values) != len(float.Values) {
		return Accuracy{}, fmt.Errorf("output %q has %d values, and %d of the float model", float.Name, len(quantised.Values), len(float.Values))
	}
	a := Accuracy{NearWhole: float.NearWhole, Beyond: float.Beyond}
	span := 0.0
	if float.Edges != nil {
		span = math.Max(0, slices.Max(float.Values)) - math.Min(0, slices.Min(float.Values))
	}
	rest := quantised.Values // the circuit's values, with the float model's in place of ties at an edge
	at, most, labels := 0, 0.0, len(float.Margins) > 0 && len(float.Margins) == len(float.Values)
	for i, f := range float.Values {
		if f-f != 0 {
			if alike(quantised.Values[i], f) { // infinities and NaN that the circuit has as a code
				continue
			}
			return Accuracy{}, fmt.Errorf("the float model gives %v at output %q on this input", f, float.Name)
		}
		d := math.Abs(quantised.Values[i] - f)
		unequal := float.Integers && d != 0
		if unequal {
			a.Unequal++
		}
		switch {
		case len(float.Edges) == len(float.Values) && (unequal || d > edgeError*span) && float.TiedAt(i):
			if a.tieAtEdge(i, float); a.Ties == 1 {
				rest = slices.Clone(rest)
			}
			rest[i] = f
		case unequal && labels && float.Margins[i] <= tieMargin:
			if a.Ties++; float.Margins[i] >= a.TieMargin {
				a.TieAt, a.TieMargin = i, float.Margins[i]
			}
		case d > most:
			at, most = i, d
		}
	}
	c := quantise.Compare(rest, float.Values)
	a.MaxError, a.RangeError, a.At, a.Cosine = c.MaxError, math.Min(c.Relative, math.MaxFloat64), at, c.Cosine // JSON has no infinity
	if labels {
		a.Labels = len(float.Values)
		a.RangeError = float64(a.Unequal-a.Ties) / float64(len(float.Values))
	}
	return a, nil
}

// alike says whether two numbers are equal or are both NaN.
func alike(q, f float64) bool { return q == f || f != f && q != q }

// tieAtEdge counts a tie at the edge of a selection, at entry i.
func (a *Accuracy) tieAtEdge(i int, float Tensor) {
	if e := &float.Edges[i]; !a.TieEdge || e.Margin > a.TieMargin {
		a.TieAt, a.TieMargin, a.TieEdge, a.TieIn, a.TieOut = i, e.Margin, true, e.In, e.Out
	}
	a.Ties++
}

// saturations lists where values were clamped: first the input, if clamped of its
// entries were, then the nodes, by name.
func saturations(clamped int, inputs [][]int32, nodes map[string]quantise.Saturated) []statement.Saturation {
	var list []statement.Saturation
	add := func(where string, count, of int) {
		list = append(list, statement.Saturation{Where: where, Count: count, Of: of, Share: float64(count) / float64(of)})
	}
	if clamped > 0 {
		of := 0
		for _, in := range inputs {
			of += len(in)
		}
		add("the input", clamped, of)
	}
	for _, node := range slices.Sorted(maps.Keys(nodes)) {
		add(node, nodes[node].Count, nodes[node].Of)
	}
	return list
}

// AccuracyError is the error of Prove for a run whose error (RangeError) is larger than
// MaxError allows. Nothing has been proved in this case.
type AccuracyError struct {
	Output    string  // the output that is furthest off
	Accuracy          // of this output
	Value     float64 // the entry that is furthest off
	Float     float64 // the float model's value of this entry
	Limit     float64 // the largest RangeError that is allowed
	Saturated []statement.Saturation
}

func (e *AccuracyError) Error() string {
	what := fmt.Sprintf("the quantised model is off by %s of the range of output %q (entry %d is %.5g, and %.5g in the float model), and at most %s is allowed",
		percent(e.RangeError), e.Output, e.At, e.Value, e.Float, percent(e.Limit))
	if e.Labels > 0 {
		what = fmt.Sprintf("%d of the %d labels of output %q are not the float model's, nor ties (entry %d is %.5g, and %.5g there), and at most %s may be",
			e.Unequal-e.Ties, e.Labels, e.Output, e.At, e.Value, e.Float, percent(e.Limit))
	}
	return what + e.clipped()
}

// clipped says where values were clamped: the five places with the largest share, and how many others there are.
func (e *AccuracyError) clipped() string {
	if len(e.Saturated) == 0 {
		return "; no value was clipped"
	}
	const most = 5
	worst := slices.SortedStableFunc(slices.Values(e.Saturated), func(a, b statement.Saturation) int { return cmp.Compare(b.Share, a.Share) })
	places := seq.Map(worst[:min(most, len(worst))], func(w statement.Saturation) string { return w.String() })
	if n := len(worst) - most; n > 0 {
		places = append(places, fmt.Sprintf("and %d other places", n))
	}
	return "; clipped to the calibrated ranges: " + strings.Join(places, ", ")
}

// percent writes a fraction as a percentage.
func percent(x float64) string {
	if x > 1e6 {
		return "more than 10^8 %"
	}
	return fmt.Sprintf("%.3g %%", 100*x)
}

// A bar is the largest error that a run may have. fraction bounds Accuracy.RangeError of each output; float has the
// float model's outputs.
type bar struct {
	fraction float64
	float    []Tensor
}

// check returns an *AccuracyError for the output that is furthest off, if an output of the run is further off than the
// bar allows. A nil bar allows any error.
func (b *bar) check(r *Run) (err error) {
	defer must.Catch(&err)
	if b == nil {
		return nil
	}
	if len(r.Outputs) != len(b.float) {
		return fmt.Errorf("%d outputs, and %d of the float model", len(r.Outputs), len(b.float))
	}
	var worst *AccuracyError
	for i, f := range b.float {
		a := must.Get(Compare(r.Outputs[i], f))
		if !(a.RangeError <= b.fraction) && (worst == nil || a.RangeError > worst.RangeError) {
			worst = &AccuracyError{
				Output: f.Name, Accuracy: a, Value: r.Outputs[i].Values[a.At], Float: f.Values[a.At],
				Limit: b.fraction, Saturated: r.Saturated,
			}
		}
	}
	if worst == nil {
		return nil
	}
	return worst
}

// Layers runs the circuit and the float model that it was made from on an input, and
// compares them node by node. Nothing is proved.
func (c *Circuit) Layers(ctx context.Context, m *Model, in Input) (_ []quantise.Layer, err error) {
	defer must.Catch(&err)
	q := must.Get(c.sized(in))
	_, wit, err := c.run(ctx, nil, q, in)
	must.OK(err)
	var layers []quantise.Layer
	err = m.while(ctx, func() (err error) {
		defer must.Catch(&err)
		g := must.Get(m.sizedFor(in))
		must.OK(runnable(g))
		layers = quantise.Layers(q, g, must.Get(g.RunFloat(in)), wit)
		return nil
	})
	return layers, err
}

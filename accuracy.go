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

// Accuracy says how far an output of a circuit is from the float model's.
type Accuracy struct {
	MaxError   float64 `json:"max_error"`   // largest absolute difference
	RangeError float64 `json:"range_error"` // the same in units of the float output's range, 0 included
	At         int     `json:"at"`          // the entry that it is at, in row-major order
	Cosine     float64 `json:"cosine"`      // of the angle between the two
	Unequal    int     `json:"unequal"`     // entries of an integer type that are not the float model's
	// Labels is the number of entries if each says what is greatest of some scores, and else 0. Ties are those
	// of the unequal ones of which the float model has the two greatest scores closer than a hundredth of the range of all; the
	// widest is at an entry, with a margin. RangeError is the part of the labels that are unequal and no ties.
	Labels    int     `json:"labels,omitempty"`
	Ties      int     `json:"ties,omitempty"`
	TieAt     int     `json:"tie_at,omitempty"`
	TieMargin float64 `json:"tie_margin,omitempty"`
	// TieEdge says that there are ties of which two scores at the edge of a selection are closer than a thousandth of the range of
	// all, such as two neighbours that are equally far: of the widest TieIn is among the selected and TieOut is not. Such ties are
	// also counted of outputs that are no labels: those are the entries off by more than a thousandth of the range.
	TieEdge bool `json:"tie_edge,omitempty"`
	TieIn   int  `json:"tie_in,omitempty"`
	TieOut  int  `json:"tie_out,omitempty"`
	// NearWhole is how many values that are cast to integers, and that the output follows from, are as near to a whole number as
	// float32 may be off: another runtime may have the next one, whatever this circuit has.
	NearWhole int `json:"near_whole,omitempty"`
	// Beyond is how many values that the output follows from are too large for a float32, or too small and divided by, or taken the
	// logarithm of: a runtime in float32 has an infinity there, whatever this circuit has.
	Beyond int `json:"beyond_float32,omitempty"`
}

// edgeError is how far an entry is off that a tie at the edge of a selection explains, in units of the output's range.
const edgeError = 0.001

// tieMargin is how close two scores are that tie, in units of the range of all.
const tieMargin = 0.01

// Compare holds an output of a circuit against the float model's. It is an
// error if that is not finite.
func Compare(quantised, float Tensor) (Accuracy, error) {
	if len(quantised.Values) != len(float.Values) {
		return Accuracy{}, fmt.Errorf("output %q has %d values, and %d of the float model", float.Name, len(quantised.Values), len(float.Values))
	}
	a := Accuracy{NearWhole: float.NearWhole, Beyond: float.Beyond}
	span := 0.0
	if float.Edges != nil {
		span = math.Max(0, slices.Max(float.Values)) - math.Min(0, slices.Min(float.Values))
	}
	rest := quantised.Values // but for ties
	at, most, labels := 0, 0.0, len(float.Margins) > 0 && len(float.Margins) == len(float.Values)
	for i, f := range float.Values {
		if f-f != 0 {
			if alike(quantised.Values[i], f) { // as a code says
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

func alike(q, f float64) bool { return q == f || f != f && q != q }

// tieAtEdge counts a tie at the edge of a selection, at entry i.
func (a *Accuracy) tieAtEdge(i int, float Tensor) {
	if e := &float.Edges[i]; !a.TieEdge || e.Margin > a.TieMargin {
		a.TieAt, a.TieMargin, a.TieEdge, a.TieIn, a.TieOut = i, e.Margin, true, e.In, e.Out
	}
	a.Ties++
}

// saturations lists where values were clamped: the input first, then nodes by
// name.
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

// AccuracyError is the error of Prove when a run is further from the float
// model than MaxError allows. Nothing has been proved then.
type AccuracyError struct {
	Output    string  // the one that is furthest off
	Accuracy          // of it
	Value     float64 // the entry that is furthest off
	Float     float64 // the same of the float model
	Limit     float64 // of Accuracy.RangeError
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

// clipped says where values were clamped.
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

// percent writes a fraction in per cent.
func percent(x float64) string {
	if x > 1e6 {
		return "more than 10^8 %"
	}
	return fmt.Sprintf("%.3g %%", 100*x)
}

// A bar bounds the error of a run: fraction of each output's range, from the float model's outputs.
type bar struct {
	fraction float64
	float    []Tensor
}

// check returns an error if the run is further off. A nil bar allows anything.
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

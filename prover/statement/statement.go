// Package statement says what a valid proof states, in real numbers and names: what
// a verifier shows. It needs no model reader and no prover, and builds for js/wasm.
package statement

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/verifier"
)

// ErrOtherInput is the error for a proof that is about another input.
var ErrOtherInput = errors.New("the proof is about another input")

// Tensor is a dense, row-major tensor of real numbers.
type Tensor struct {
	Name   string  `json:"name"`
	Shape  []int   `json:"shape"` // empty, not nil, for a scalar
	Values Numbers `json:"values"`
	// Strings are the names that the values stand for, if a vocabulary says so: of an output that is labels.
	Strings []string `json:"strings,omitempty"`
	// Columns are the names of the entries along the last axis, if a vocabulary says them.
	Columns []string `json:"columns,omitempty"`
	// Integers says that the model gives the values an integer type: of what a float model
	// gave. No statement says it.
	Integers bool `json:"-"`
	// Margins are, by entry of integers each of which says what is greatest of some scores, how far
	// that was ahead of the next, in units of the scores' range: of what a float model gave.
	Margins []float64 `json:"-"`
	// Edges are, by entry that follows from the first few of some scores, such as nearest neighbours, which two are at the edge of
	// these, and how far they are apart: of what a float model gave.
	Edges []Edge `json:"-"`
	// NearWhole is how many values that are cast to integers, and that the tensor follows from, are as near to a whole number as
	// float32 may be off, so that another runtime may have the next one: of what a float model gave.
	NearWhole int `json:"-"`
	// Beyond is how many values that the tensor follows from are an infinity in float32, or a 0 whose inverse or logarithm is wanted:
	// of what a float model gave.
	Beyond int `json:"-"`
}

// edgeMargin is how close the scores at the edge of a selection are that tie, in units of their range.
const edgeMargin = 0.001

// TiedAt says whether an entry follows from a selection at whose edge two scores tie.
func (t *Tensor) TiedAt(i int) bool { return i < len(t.Edges) && t.Edges[i].Margin <= edgeMargin }

// Edge is the last of some scores that is selected and the first that is not, and how far they are apart in units of the scores' range.
type Edge struct {
	In, Out int
	Margin  float64
}

// Saturation counts the values of one place that were clamped to the range
// that calibration gave it.
type Saturation struct {
	Where string  `json:"where"`
	Count int     `json:"count"`
	Of    int     `json:"of"`    // values at that place
	Share float64 `json:"share"` // Count/Of
}

// String says it in words.
func (s Saturation) String() string {
	return fmt.Sprintf("%d of %d values (%.3g %%) at %s", s.Count, s.Of, 100*s.Share, s.Where)
}

// Inputs returns what the proof says that the model was run on, as it was rounded.
func Inputs(r *verifier.Result) []Tensor {
	return tensors(r.Circuit, r.Circuit.Given(), r.Inputs, math.MaxInt)
}

// FirstOutputs returns what the proof says that the model gives: the first n values of each output.
func FirstOutputs(r *verifier.Result, n int) []Tensor {
	return tensors(r.Circuit, r.Circuit.Outputs, r.Outputs, n)
}

func tensors(g *model.Graph, ids []model.TensorID, ints [][]int32, n int) []Tensor {
	out := make([]Tensor, len(ids))
	for i, id := range ids {
		t := &g.Tensors[id]
		out[i] = Tensor{Name: t.Name, Shape: append([]int{}, t.Shape...), Values: t.Reals(ints[i][:min(n, len(ints[i]))])}
	}
	return out
}

// Reveal says of which output a proof states where the greatest entries are alone, in its place among the
// outputs.
type Reveal struct {
	Output string `json:"output"`
	Top    int    `json:"top"` // how many, in order; 0: the first of the greatest
	// Unproved says that the comparisons hold for entries in [Least, Most], and that it rests on whoever
	// issued the key that there are no others: no look-up of the circuit keeps them there.
	Unproved    bool    `json:"unproved"`
	Least, Most float64 `json:"-"`
}

// Reveals returns what is stated in place of outputs.
func Reveals(r *verifier.Result) []Reveal {
	var list []Reveal
	for _, v := range r.Circuit.Reveals {
		t := &r.Circuit.Tensors[v.Of]
		ends := t.Reals([]int32{int32(v.Least), int32(v.Most)})
		list = append(list, Reveal{t.Name, v.Top, v.Issuer, ends[0], ends[1]})
	}
	return list
}

// Hidden is an input or an output that a proof does not state.
type Hidden struct {
	Input bool   `json:"input"` // or an output
	Name  string `json:"name"`
	Shape []int  `json:"shape"`
	// Range is where the proof shows the entries of an input to be; nil if they are on several scales, and of an output.
	Range []float64 `json:"range,omitempty"`
	// Commitment is that to an input which was committed to before, in hexadecimal digits; "" of others.
	Commitment string `json:"commitment,omitempty"`
}

// String says it in words.
func (h Hidden) String() string {
	kind := "output"
	if h.Input {
		kind = "input"
	}
	s := fmt.Sprintf("%s %s %v", kind, h.Name, h.Shape)
	if len(h.Range) == 2 {
		s += fmt.Sprintf(", its entries in [%.5g, %.5g]", h.Range[0], h.Range[1])
	}
	if h.Commitment != "" {
		s += ", committed to as " + h.Commitment
	}
	return s
}

// HiddenIn returns what is not stated.
func HiddenIn(r *verifier.Result) []Hidden {
	var list []Hidden
	g := r.Circuit
	for i, id := range g.Hidden {
		t := &g.Tensors[id]
		h := Hidden{Input: true, Name: t.Name, Shape: append([]int{}, t.Shape...)}
		if len(t.Fracs) == 0 {
			h.Range = t.Reals([]int32{int32(t.Min), int32(t.Max)})
		}
		for k, c := range r.Committed {
			if r.CommittedInputs[k] == g.Instance.HiddenInputs[i] {
				h.Commitment = fmt.Sprintf("%x", c.Digest())
			}
		}
		list = append(list, h)
	}
	for _, id := range g.HiddenOutputs {
		list = append(list, Hidden{Name: g.Tensors[id].Name, Shape: append([]int{}, g.Tensors[id].Shape...)})
	}
	return list
}

// Array is what somebody gives for an input, row-major.
type Array struct {
	Name   string // empty if it goes by its position
	Shape  []int  // nil if nothing is known but the number of the values
	Values []float64
}

// Compare checks that the proof is about the given arrays, as the quantiser rounds
// them, and returns how many of their entries it had to clamp: the proof is the same
// for all of these. The name of an array must be that of an input, which no other array
// is for; those without a name, and those that NumPy calls arr_0, arr_1, … because nobody
// named them, are for the other inputs, in their order. A shape must be the input's, of
// which a batch of one may be missing, in the array or in the model. The error wraps
// ErrOtherInput.
func Compare(r *verifier.Result, given []Array) (clamped int, err error) {
	g := r.Circuit
	ordered, err := inOrder(g, given)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrOtherInput, err)
	}
	ints, clamped, err := g.RoundInputs(ordered)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrOtherInput, err)
	}
	for i := range ints {
		if !slices.Equal(ints[i], r.Inputs[i]) {
			return 0, ErrOtherInput
		}
	}
	return clamped, nil
}

// numbered says whether NumPy gives that name to an array of an archive that nobody named.
func numbered(name string) bool {
	digits, ok := strings.CutPrefix(name, "arr_")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// inOrder returns the values of arrays in the order of the inputs.
func inOrder(g *model.Graph, given []Array) ([][]float64, error) {
	if len(given) != len(g.Given()) {
		return nil, fmt.Errorf("%d arrays are given, and the model has %d inputs", len(given), len(g.Given()))
	}
	ordered := make([]*Array, len(g.Given()))
	var rest []*Array
	for i := range given {
		a := &given[i]
		free, known := -1, false // a key may call several inputs the same: the first of them that has no array yet
		for k, id := range g.Given() {
			if g.Tensors[id].Name == a.Name {
				known = true
				if free < 0 && ordered[k] == nil {
					free = k
				}
			}
		}
		switch {
		case a.Name == "" || !known && numbered(a.Name):
			rest = append(rest, a)
		case !known:
			return nil, fmt.Errorf("%q is given, but the model has no input of that name", a.Name)
		case free < 0:
			return nil, fmt.Errorf("input %q is given twice", a.Name)
		default:
			ordered[free] = a
		}
	}
	values := make([][]float64, len(ordered))
	for i, id := range g.Given() {
		if ordered[i] == nil {
			ordered[i], rest = rest[0], rest[1:]
		}
		t := &g.Tensors[id]
		if !fits(ordered[i].Shape, t.Shape) {
			return nil, fmt.Errorf("the array for input %q has shape %v, and the input has %v", t.Name, ordered[i].Shape, t.Shape)
		}
		values[i] = ordered[i].Values
	}
	return values, nil
}

// fits says whether an array of one shape may be for an input of another.
func fits(array, input []int) bool {
	withoutBatch := func(long, short []int) bool {
		return len(long) == len(short)+1 && long[0] == 1 && slices.Equal(long[1:], short)
	}
	return array == nil || slices.Equal(array, input) || withoutBatch(array, input) || withoutBatch(input, array)
}

// Saturations names the nodes that look up in the tables of a result's saturations:
// how many values inside of the model were, at most, clamped.
func Saturations(r *verifier.Result) []Saturation {
	g := r.Circuit
	type use struct {
		table model.TableID
		node  string
	}
	clamps := make([]bool, len(g.Tables))
	for _, s := range r.Saturated {
		clamps[s.Table] = true
	}
	seen, nodes := map[use]bool{}, make([][]string, len(g.Tables))
	for i := range g.Steps {
		s := &g.Steps[i]
		if u := (use{s.Table, s.Name}); s.Kind == model.StepLookup && clamps[s.Table] && !seen[u] {
			seen[u] = true
			nodes[s.Table] = append(nodes[s.Table], s.Name)
		}
	}
	const most = 3
	var out []Saturation
	for _, s := range r.Saturated {
		n := nodes[s.Table]
		where := strings.Join(n[:min(most, len(n))], ", ")
		if len(n) > most {
			where += fmt.Sprintf(" and %d other nodes", len(n)-most)
		}
		out = append(out, Saturation{where, s.Count, s.Of, float64(s.Count) / float64(s.Of)})
	}
	return out
}

// Package statement translates what a valid proof states from integers to real numbers
// and names, for a verifier to show. It needs no model reader and no prover, and builds for
// js/wasm.
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
	// Strings are the names that the values stand for, if the output is labels and a vocabulary has their names.
	Strings []string `json:"strings,omitempty"`
	// Columns are the names of the entries along the last axis, if a vocabulary has them.
	Columns []string `json:"columns,omitempty"`

	// The fields below are set for outputs of a float model, which a caller compares with those of a proof. No statement has them.

	// Integers says that the model gives the values an integer type.
	Integers bool `json:"-"`
	// Margins is set if each entry is the index of the greatest of some scores. It has, for each entry, how far the greatest score is
	// ahead of the next, in units of the scores' range.
	Margins []float64 `json:"-"`
	// Edges is set if each entry follows from a selection of the greatest or least few of some scores, such as nearest neighbours. It
	// has, for each entry, the scores at the edge of the selection.
	Edges []Edge `json:"-"`
	// NearWhole counts values that are cast to integers, and that the tensor depends on, which are so near to a whole number that
	// another runtime with other float32 rounding may get the next integer.
	NearWhole int `json:"-"`
	// Beyond counts values that the tensor depends on which are an infinity in float32, or a 0 of which the inverse or the logarithm
	// is taken.
	Beyond int `json:"-"`
}

// edgeMargin is the distance, in units of the scores' range, up to which the two scores at the edge of a selection count as tied.
const edgeMargin = 0.001

// TiedAt says whether entry i follows from a selection at whose edge two scores tie.
func (t *Tensor) TiedAt(i int) bool { return i < len(t.Edges) && t.Edges[i].Margin <= edgeMargin }

// Edge is the edge of a selection from some scores: In is the last score that is selected and Out the first that is not, and Margin is
// how far the two are apart in units of the scores' range.
type Edge struct {
	In, Out int
	Margin  float64
}

// Saturation counts the values that were clamped, at some nodes of the model, to the range
// that calibration gave them.
type Saturation struct {
	Where string  `json:"where"` // names of the nodes
	Count int     `json:"count"`
	Of    int     `json:"of"`    // all values at these nodes
	Share float64 `json:"share"` // Count/Of
}

// String describes the saturation in words.
func (s Saturation) String() string {
	return fmt.Sprintf("%d of %d values (%.3g %%) at %s", s.Count, s.Of, 100*s.Share, s.Where)
}

// Inputs returns the inputs that the proof states: the values that the model was run on, as they were rounded.
func Inputs(r *verifier.Result) []Tensor {
	return tensors(r.Circuit, r.Circuit.Given(), r.Inputs, math.MaxInt)
}

// FirstOutputs returns the outputs that the proof states, with at most the first n values of each. Shape is that of all values.
func FirstOutputs(r *verifier.Result, n int) []Tensor {
	return tensors(r.Circuit, r.Circuit.Outputs, r.Outputs, n)
}

// tensors returns the real values of tensors, of each at most the first n. ints[i] has the entries of ids[i].
func tensors(g *model.Graph, ids []model.TensorID, ints [][]int32, n int) []Tensor {
	out := make([]Tensor, len(ids))
	for i, id := range ids {
		t := &g.Tensors[id]
		out[i] = Tensor{Name: t.Name, Shape: append([]int{}, t.Shape...), Values: t.Reals(ints[i][:min(n, len(ints[i]))])}
	}
	return out
}

// Reveal is an output of which a proof states only the indexes of the greatest entries. These stand in the output's place among the
// outputs (docs/protocol.md, "Greatest entries in place of an output").
type Reveal struct {
	Output string `json:"output"`
	Top    int    `json:"top"` // the number of greatest entries, in order; 0: the first greatest one alone
	// Unproved says that no look-up of the circuit keeps the output's entries in [Least, Most]. The comparisons hold only for
	// entries in that range, and the issuer of the key vouches that there are no others.
	Unproved    bool    `json:"unproved"`
	Least, Most float64 `json:"-"`
}

// Reveals returns the outputs in place of which the proof states indexes.
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
	Input bool   `json:"input"` // whether it is an input; otherwise it is an output
	Name  string `json:"name"`
	Shape []int  `json:"shape"`
	// Range is the range, as least and greatest, in which the proof shows the entries of an input to be. It is nil for an output,
	// and for an input whose entries have several scales.
	Range []float64 `json:"range,omitempty"`
	// Commitment is the digest, in hexadecimal digits, of the input commitment that the proof names; "" if it names none.
	Commitment string `json:"commitment,omitempty"`
}

// String describes the hidden tensor in words.
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

// HiddenIn returns the inputs, then the outputs, that the proof does not state.
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

// Array has the values that a user claims for an input, row-major.
type Array struct {
	Name   string // the input's name; empty if the position among the arrays says which input it is
	Shape  []int  // nil if only the number of values is known
	Values []float64
}

// Compare checks that the proof is about the given arrays, once the quantiser has rounded them. It returns how many
// of their entries were clamped to the input's range: any other value beyond the range would have the same proof. A
// named array is for the input of that name. Arrays without a name, and those that NumPy calls arr_0, arr_1, …
// because nobody named them, are for the remaining inputs, in order. There must be one array for each input. Its
// shape must be that of the input, except that a leading axis of length 1 may be missing in either. The error wraps
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

// numbered says whether name is one that NumPy gives to an unnamed array in an archive: arr_ and digits.
func numbered(name string) bool {
	digits, ok := strings.CutPrefix(name, "arr_")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// inOrder returns the values of the arrays in the order of the inputs that they are for (Compare).
func inOrder(g *model.Graph, given []Array) ([][]float64, error) {
	if len(given) != len(g.Given()) {
		return nil, fmt.Errorf("%d arrays are given, and the model has %d inputs", len(given), len(g.Given()))
	}
	ordered := make([]*Array, len(g.Given()))
	var rest []*Array // arrays without a name of an input
	for i := range given {
		a := &given[i]
		// Several inputs of a key may have one name. known says whether any input has the array's name, and free is the first
		// such input that has no array yet, or −1.
		free, known := -1, false
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

// fits says whether an array of shape array may be for an input of shape input: the shapes are equal but for a leading 1, or the
// array's is not known.
func fits(array, input []int) bool {
	withoutBatch := func(long, short []int) bool {
		return len(long) == len(short)+1 && long[0] == 1 && slices.Equal(long[1:], short)
	}
	return array == nil || slices.Equal(array, input) || withoutBatch(array, input) || withoutBatch(input, array)
}

// Saturations returns, for each table of which the proof counts saturated rows, that count and the names of the nodes that look up
// in the table. The count is the most values that were clamped there (verifier.Saturation).
func Saturations(r *verifier.Result) []Saturation {
	g := r.Circuit
	type use struct {
		table model.TableID
		node  string
	}
	clamps := make([]bool, len(g.Tables)) // by table, whether its saturated rows are counted
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
	const most = 3 // names that are spelt out for a table
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

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
	return tensors(r.Circuit, r.Circuit.Inputs, r.Inputs, math.MaxInt)
}

// Outputs returns what the proof says that the model gives.
func Outputs(r *verifier.Result) []Tensor { return FirstOutputs(r, math.MaxInt) }

// FirstOutputs is Outputs with the first n values of each alone.
func FirstOutputs(r *verifier.Result, n int) []Tensor {
	return tensors(r.Circuit, r.Circuit.Outputs, r.Outputs, n)
}

func tensors(g *model.Graph, ids []model.TensorID, ints [][]int32, n int) []Tensor {
	out := make([]Tensor, len(ids))
	for i, id := range ids {
		t := &g.Tensors[id]
		out[i] = Tensor{t.Name, append([]int{}, t.Shape...), t.Reals(ints[i][:min(n, len(ints[i]))])}
	}
	return out
}

// Compare checks that the proof is about the given arrays, as the quantiser rounds
// them, and returns how many of their entries it had to clamp: the proof is the same
// for all of these. Arrays go by name if all have the names of inputs, each its own,
// and by position otherwise. The error wraps ErrOtherInput.
func Compare(r *verifier.Result, names []string, values [][]float64) (clamped int, err error) {
	g := r.Circuit
	ints, clamped, err := g.RoundInputs(inOrder(g, names, values))
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

func inOrder(g *model.Graph, names []string, values [][]float64) [][]float64 {
	if len(values) != len(g.Inputs) || len(names) != len(values) {
		return values
	}
	index := map[string]int{}
	for i, name := range names {
		index[name] = i
	}
	ordered := make([][]float64, len(values))
	for i, id := range g.Inputs {
		name := g.Tensors[id].Name
		at, ok := index[name]
		if !ok {
			return values
		}
		ordered[i] = values[at]
		delete(index, name)
	}
	return ordered
}

// Saturations names the nodes that look up in the tables of a result's saturations:
// how many values inside of the model were, at most, clamped.
func Saturations(r *verifier.Result) []Saturation {
	g := r.Circuit
	type use struct {
		table model.TableID
		node  string
	}
	seen, nodes := map[use]bool{}, make([][]string, len(g.Tables))
	for i := range g.Steps {
		s := &g.Steps[i]
		if u := (use{s.Table, s.Name}); s.Kind == model.StepLookup && !seen[u] {
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

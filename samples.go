package provemodel

import (
	"errors"
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Input matches arrays with the model's inputs, as one input of the size that the model was
// opened for. Arrays that have names must have those of inputs; the others go by position. A
// shape must be the input's (docs/inputs.md); an array without one goes by its count.
//
// A text may have any length up to the most that there is.
func (m *Model) Input(arrays Arrays) (Input, error) {
	specs := m.Inputs()
	arrays, err := arrays.For(m.wanted())
	if err != nil {
		return nil, err
	}
	if n := len(arrays); m.open.isText() && n > 0 {
		g, err := m.text(len(arrays[0].Values))
		if err != nil {
			return nil, err
		}
		specs = inputsOf(g)
	}
	samples, err := cut(specs, arrays)
	if err == nil && len(samples) != 1 {
		err = fmt.Errorf("it holds %d inputs: the model takes %s", len(samples), signature(specs))
	}
	if err != nil {
		return nil, err
	}
	return samples[0], nil
}

// Samples matches arrays with inputs as Input does, and cuts each into as many
// samples as it holds: elements of the batch, if the model leaves its size open; texts
// of the last axis' length, if that is what it leaves open, or else of the greatest
// length if there are more tokens than that.
func (m *Model) Samples(arrays Arrays) ([]Input, error) {
	arrays, err := arrays.For(m.wanted())
	if err != nil {
		return nil, err
	}
	size := 1
	if m.open.isText() && len(arrays) > 0 {
		a := &arrays[0]
		if size = len(a.Values); len(a.Shape) > 1 {
			size = a.Shape[len(a.Shape)-1]
		} else if size > m.open.most {
			size = m.open.most
		}
		if _, err := m.text(size); err != nil {
			return nil, err
		}
	}
	g, err := m.sized(size)
	if err != nil {
		return nil, err
	}
	return cut(inputsOf(g), arrays)
}

// TextSamples makes samples of texts, each the tokens of one, for a language model or an
// encoder that leaves their length open. A model that gives logits at some positions alone
// gives them at the last ones.
func (m *Model) TextSamples(texts [][]int) ([]Input, error) {
	if !m.open.isText() || len(m.graph.Inputs) > 2 {
		return nil, errors.New("the model does not take texts of any length as tokens")
	}
	samples := make([]Input, len(texts))
	for i, ids := range texts {
		g, err := m.text(len(ids))
		if err != nil {
			return nil, fmt.Errorf("text %d: %w", i, err)
		}
		samples[i] = Input{make([]float64, len(ids))}
		for j, id := range ids {
			samples[i][0][j] = float64(id)
		}
		if len(g.Inputs) == 2 {
			at := make([]float64, model.Size(g.Inputs[1].Shape))
			for j := range at {
				at[j] = float64(min(max(len(ids)-len(at), 0)+j, len(ids)-1))
			}
			samples[i] = append(samples[i], at)
		}
	}
	return samples, nil
}

// wanted are the inputs for arrays to be matched with: of their axes those that keys of the
// model leave open may have any size, the others have the one that the model was opened for.
func (m *Model) wanted() []graph.Input {
	out := slices.Clone(m.graph.Inputs)
	for i, in := range out {
		out[i].Symbols = make([]string, len(in.Symbols))
		for axis, symbol := range in.Symbols {
			if symbol == m.open.symbol || m.open.isText() && axis == 0 { // Samples cuts several texts
				out[i].Symbols[axis] = symbol
			}
		}
	}
	return out
}

// text returns the float graph for a text of n tokens.
func (m *Model) text(n int) (*graph.Graph, error) {
	if n < 1 || n > m.open.most {
		return nil, fmt.Errorf("%d tokens: the model was opened for 1 to %d (--tokens)", n, m.open.most)
	}
	return m.sized(n)
}

// whole joins samples to batches of the size that the model was opened for, each
// sample as often as it takes to fill the last; nil if they have it already.
func (m *Model) whole(samples []Input) []Input {
	if m.open.symbol == "" || m.open.isText() {
		return nil
	}
	size := model.Size(m.graph.Inputs[0].Shape)
	have := len(samples[0][0])
	if have == size || size%have != 0 {
		return nil
	}
	n := size / have
	out := make([]Input, (len(samples)+n-1)/n)
	for k := range out {
		out[k] = make(Input, len(samples[0]))
		for i := range out[k] {
			for j := range n {
				out[k][i] = append(out[k][i], samples[(k*n+j)%len(samples)][i]...)
			}
		}
	}
	return out
}

// cut cuts each array into as many samples of the given shapes as it holds.
func cut(specs []Spec, arrays Arrays) ([]Input, error) {
	if len(arrays) != len(specs) {
		return nil, fmt.Errorf("it holds %d arrays, but the model takes %d: %s", len(arrays), len(specs), signature(specs))
	}
	if len(specs) == 0 { // the model computes the same always
		return []Input{{}}, nil
	}
	n := 0
	for i, s := range specs {
		have, want := len(arrays[i].Values), model.Size(s.Shape)
		if have == 0 && want == 0 { // in any number of samples
			continue
		}
		if want == 0 || have == 0 || have%want != 0 || n != 0 && have != n*want {
			return nil, fmt.Errorf("array %d has %d elements, which is not %s: the model takes %s",
				i, have, times(n, want), signature(specs))
		}
		n = have / want
	}
	n = max(n, 1) // of inputs without elements there is one sample
	samples := make([]Input, n)
	for k := range samples {
		for i, s := range specs {
			size := model.Size(s.Shape)
			samples[k] = append(samples[k], arrays[i].Values[k*size:(k+1)*size])
		}
	}
	return samples, nil
}

func times(n, size int) string {
	switch {
	case size == 0:
		return "none"
	case n == 0:
		return fmt.Sprintf("a multiple of %d", size)
	}
	return fmt.Sprintf("%d × %d", n, size)
}

// signature lists inputs with their shapes, in characters that print.
func signature(specs []Spec) string {
	s := ""
	for i, x := range specs {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprintf("%s %v", model.PrintableName(x.Name), x.Shape)
	}
	return s
}

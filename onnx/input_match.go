package onnx

import (
	"fmt"
	"image"
	"slices"
	"strings"

	"github.com/prove-model/prove-model/graph"
)

// merge joins arrays that were given for one input: samples, end to end.
func (in Inputs) merge() (Inputs, error) {
	var out Inputs
	index := map[string]int{}
	for _, v := range in {
		at, ok := index[v.Name]
		if !ok || !v.named {
			if v.named {
				index[v.Name] = len(out)
			}
			out = append(out, v)
			continue
		}
		to := &out[at]
		if v.table != nil || to.table != nil || (v.pictures == nil) != (to.pictures == nil) {
			return nil, fmt.Errorf("input %s is given twice", graph.Quote(v.Name))
		}
		if n := len(v.Shape); n > 0 && n == len(to.Shape) && slices.Equal(v.Shape[1:], to.Shape[1:]) {
			to.Shape = append([]int{to.Shape[0] + v.Shape[0]}, v.Shape[1:]...)
		} else {
			to.Shape = nil
		}
		to.Values = append(slices.Clip(to.Values), v.Values...)
		to.Numbers = to.Numbers.Union(v.Numbers)
		to.pictures = append(slices.Clip(to.pictures), v.pictures...)
	}
	return out, nil
}

// For returns the arrays as a model with these inputs takes them, in their order: tables
// as columns, pictures as numbers, arrays by the names that they were given by.
func (in Inputs) For(wanted []graph.Input) (Inputs, error) {
	in, err := in.assign(wanted)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(in)
	for i, v := range out {
		if v.pictures == nil || len(out) != len(wanted) { // whoever counts them says so
			continue
		}
		if out[i].Values, err = v.scale.numbers(v.pictures, wanted[i]); err != nil {
			return nil, err
		}
		out[i].pictures = nil
	}
	return out, nil
}

// assign orders arrays as the model's inputs, if any goes by a name, and cuts tables. Of
// the inputs' dimensions 0 is one that is open.
// Arrays that go by position alone stay as they are.
func (in Inputs) assign(wanted []graph.Input) (Inputs, error) {
	named := map[string]Input{}
	var rest Inputs
	for _, v := range in {
		if !v.named {
			rest = append(rest, v)
			continue
		}
		at := slices.IndexFunc(wanted, func(w graph.Input) bool { return w.Name == v.Name })
		if at < 0 {
			return nil, fmt.Errorf("%s is given, but the model has no input of that name: it has %s", graph.Quote(v.Name), inputNames(wanted))
		}
		if v.table != nil {
			whole, err := v.table.whole(v.Name, wanted[at].Shape)
			if err != nil {
				return nil, err
			}
			v = whole
		}
		named[v.Name] = v
	}
	var open []graph.Input // that nothing names
	for _, w := range wanted {
		if _, ok := named[w.Name]; !ok {
			open = append(open, w)
		}
	}
	rest, err := rest.split(open)
	if err != nil {
		return nil, err
	}
	if len(named) == 0 {
		return rest, nil // by the names that files have, or by position
	}
	if len(rest) != len(open) {
		return nil, fmt.Errorf("%d of the model's %d inputs are given: nothing is for %s", len(wanted)-len(open)+len(rest), len(wanted), inputNames(open))
	}
	rest = rest.byName(open)
	var out Inputs
	for _, w := range wanted {
		v, ok := named[w.Name]
		if !ok {
			v, rest = rest[0], rest[1:]
		}
		v.Name = w.Name
		out = append(out, v)
	}
	return out, nil
}

// split cuts a table for the inputs that nothing else is for, and joins pictures for an
// only one.
func (in Inputs) split(open []graph.Input) (Inputs, error) {
	at := slices.IndexFunc(in, func(v Input) bool { return v.table != nil })
	if at >= 0 && len(in) > 1 {
		return nil, fmt.Errorf("a table and %d other arrays without names of inputs: give each with --input name=file", len(in)-1)
	}
	if at >= 0 {
		return in[at].table.inputs(open)
	}
	if len(open) == 1 && len(in) > 1 && !slices.ContainsFunc(in, func(v Input) bool { return v.pictures == nil }) {
		all := in[0]
		var pictures []image.Image
		for _, v := range in {
			pictures = append(pictures, v.pictures...)
		}
		all.pictures = pictures
		return Inputs{all}, nil
	}
	return in, nil
}

// byName orders arrays by the names that their files have, if these are the inputs'.
func (in Inputs) byName(wanted []graph.Input) Inputs {
	var out Inputs
	for _, w := range wanted {
		at := slices.IndexFunc(in, func(v Input) bool { return v.Name == w.Name })
		if at < 0 {
			return in
		}
		out = append(out, in[at])
	}
	return out
}

func inputNames(inputs []graph.Input) string {
	var names []string
	for _, v := range inputs {
		names = append(names, v.Name)
	}
	if len(names) == 0 {
		return "none"
	}
	return several(names)
}

// WithPictures returns the inputs with pictures scaled in that way.
func (in Inputs) WithPictures(p Pictures) Inputs {
	out := slices.Clone(in)
	for i := range out {
		out[i].scale = p
	}
	return out
}

// Notes says what of the files was passed over.
func (in Inputs) Notes() string {
	var notes []string
	for _, v := range in {
		if v.Note != "" {
			notes = append(notes, v.Note)
		}
	}
	return strings.Join(notes, "; ")
}

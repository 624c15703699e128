package onnx

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/refuse"
)

// InputsError is the error that given arrays do not fit the inputs of a model.
type InputsError struct{ Reason error }

// Error says which array, and what the model takes.
func (e *InputsError) Error() string { return e.Reason.Error() }

// checkInputs refuses the arrays with an [InputsError], if err is not nil.
func checkInputs(err error) {
	if err != nil {
		must.OK(&InputsError{err})
	}
}

// merge joins arrays that were given for the same input, end to end: they are samples.
func (in Inputs) merge() Inputs {
	var out Inputs
	index := map[string]int{}
	for _, v := range in {
		at, ok := index[v.Name]
		if !ok || !v.isNamed() {
			if v.isNamed() {
				index[v.Name] = len(out)
			}
			out = append(out, v)
			continue
		}
		to := &out[at]
		refuse.If(v.table != nil || to.table != nil || (v.pictures == nil) != (to.pictures == nil),
			"input %s is given twice", graph.Quote(v.Name))
		if n := len(v.Shape); n > 0 && n == len(to.Shape) && slices.Equal(v.Shape[1:], to.Shape[1:]) {
			to.Shape = append([]int{to.Shape[0] + v.Shape[0]}, v.Shape[1:]...)
		} else {
			to.Shape = nil
		}
		refuse.If((to.Strings == nil) != (v.Strings == nil),
			"input %s is given as strings and as numbers", graph.Quote(v.Name))
		to.Values = append(slices.Clip(to.Values), v.Values...)
		to.Strings = append(slices.Clip(to.Strings), v.Strings...)
		to.Numbers = to.Numbers.Union(v.Numbers)
		to.pictures = append(slices.Clip(to.pictures), v.pictures...)
		to.files = append(slices.Clip(to.files), v.files...)
	}
	return out
}

// For returns the arrays in the order and form of a model's inputs: tables as columns,
// pictures as numbers, arrays by their names. Arrays without a name are assigned, in order,
// to the inputs for which no name is given. An array may hold several samples, one after the
// other.
//
// It is an error if an array has a name that no input has, or a shape that does not fit its
// input (see fits). Axes of an input that have a symbol, or size 0, may have any size.
func (in Inputs) For(wanted []graph.Input) (Inputs, error) {
	return refuse.Result(func() Inputs {
		out := slices.Clone(in.assign(wanted))
		for i, v := range out {
			if len(out) != len(wanted) { // the caller reports a wrong number of arrays
				break
			}
			must.OK(v.fits(wanted[i]))
			if v.pictures != nil {
				out[i].Values, out[i].pictures = v.scale.numbers(v.pictures, wanted[i]), nil
			}
		}
		return out
	})
}

// fits returns an error unless an array is one or several samples of an input, end to end.
// Its shape must be that of the input; only the first axis, the batch, may be longer. The
// array may lack the batch axis if it is one sample. If the model has no batch axis, because
// the size of its first axis is fixed, the array may have one in front.
func (v Input) fits(w graph.Input) error {
	if v.Shape == nil || w.Shape == nil { // only the number of elements is known
		return nil
	}
	free := func(axis int) bool { return w.Shape[axis] == 0 || axis < len(w.Symbols) && w.Symbols[axis] != "" }
	same := func(shape []int, from int) bool {
		for i, n := range shape {
			if n != w.Shape[from+i] && !free(from+i) {
				return false
			}
		}
		return true
	}
	rank, ok := len(w.Shape), false
	switch len(v.Shape) {
	case rank:
		ok = rank == 0 || same(v.Shape[1:], 1) && (free(0) || v.Shape[0]%w.Shape[0] == 0)
	case rank - 1:
		ok = (free(0) || w.Shape[0] == 1) && same(v.Shape, 1)
	case rank + 1:
		ok = (rank == 0 || !free(0)) && same(v.Shape[1:], 0)
	}
	if ok {
		return nil
	}
	return fmt.Errorf("the array for input %s has shape %v, and the input has %s: only the first axis may differ, or be missing for one sample",
		graph.Quote(w.Name), v.Shape, shapeOf(w, free))
}

// shapeOf returns an input's shape as text, with the symbol of an open axis, or a
// question mark if it has none.
func shapeOf(w graph.Input, free func(axis int) bool) string {
	dims := make([]string, len(w.Shape))
	for i, n := range w.Shape {
		switch {
		case i < len(w.Symbols) && w.Symbols[i] != "":
			dims[i] = graph.Quote(w.Symbols[i])
		case free(i):
			dims[i] = "?"
		default:
			dims[i] = fmt.Sprint(n)
		}
	}
	return "[" + strings.Join(dims, " ") + "]"
}

// isNamed reports whether the name must be that of an input. NumPy names the unnamed arrays
// of an archive arr_0, arr_1, …; these are assigned by position.
func (v Input) isNamed() bool { return v.Name != "" && !v.numbered }

// assign puts arrays in the order of the model's inputs, and cuts tables into columns. A
// dimension of 0 in wanted is open.
func (in Inputs) assign(wanted []graph.Input) Inputs {
	named := map[string]Input{}
	var rest Inputs
	for _, v := range in {
		at := slices.IndexFunc(wanted, func(w graph.Input) bool { return w.Name == v.Name })
		if !v.isNamed() && (v.Name == "" || at < 0) {
			rest = append(rest, v)
			continue
		}
		refuse.If(at < 0,
			"%s is given, but the model has no input of that name: it has %s", graph.Quote(v.Name), inputNames(wanted))
		if v.table != nil {
			v = v.table.whole(wanted[at])
		}
		v.asWanted(wanted[at])
		_, twice := named[v.Name]
		refuse.If(twice, "input %s is given twice", graph.Quote(v.Name))
		named[v.Name] = v
	}
	var open []graph.Input // inputs for which no array is named
	for _, w := range wanted {
		if _, ok := named[w.Name]; !ok {
			open = append(open, w)
		}
	}
	rest = rest.split(open)
	for i := range rest[:min(len(rest), len(open))] {
		rest[i].asWanted(open[i])
	}
	if len(named) == 0 {
		return rest
	}
	refuse.If(len(rest) != len(open),
		"%d of the model's %d inputs are given: nothing is for %s", len(wanted)-len(open)+len(rest), len(wanted), inputNames(open))
	var out Inputs
	for _, w := range wanted {
		v, ok := named[w.Name]
		if !ok {
			v, rest = rest[0], rest[1:]
		}
		v.Name = w.Name
		out = append(out, v)
	}
	return out
}

// asWanted keeps the strings or the numbers of an array that has both, as input w
// requires, and turns pictures into the bytes of their files for an input of files. It
// refuses strings for an input of numbers.
func (v *Input) asWanted(w graph.Input) {
	switch {
	case w.DType == fileType:
		v.asFile(w.Name)
	case v.Strings == nil:
	case w.DType == stringType:
		v.Values, v.Numbers = nil, 0
	case v.Values == nil && len(v.Strings) > 0:
		refuse.With("the array for input %s %w", graph.Quote(w.Name), noNumber(v.Strings[0]))
	default:
		v.Strings = nil
	}
}

// split turns arrays without names into arrays for the open inputs: it cuts a table into
// columns, and joins several pictures if only one input is open.
func (in Inputs) split(open []graph.Input) Inputs {
	at := slices.IndexFunc(in, func(v Input) bool { return v.table != nil })
	refuse.If(at >= 0 && len(in) > 1,
		"a table and %d other arrays without names of inputs: give each with --input name=file", len(in)-1)
	if at >= 0 {
		return in[at].table.inputs(open)
	}
	if len(open) == 1 && len(in) > 1 && !slices.ContainsFunc(in, func(v Input) bool { return v.pictures == nil }) {
		all := in[0]
		all.pictures, all.files = nil, nil
		for _, v := range in {
			all.pictures, all.files = append(all.pictures, v.pictures...), append(all.files, v.files...)
		}
		return Inputs{all}
	}
	return in
}

func inputNames(inputs []graph.Input) string {
	if len(inputs) == 0 {
		return "none"
	}
	return several(each(inputs, func(v graph.Input) string { return v.Name }))
}

// WithPictures returns the inputs, with pictures to be scaled as p says.
func (in Inputs) WithPictures(p Pictures) Inputs {
	out := slices.Clone(in)
	for i := range out {
		out[i].scale = p
	}
	return out
}

// Notes says which parts of the files were ignored.
func (in Inputs) Notes() string {
	var notes []string
	for _, v := range in {
		if v.Note != "" {
			notes = append(notes, v.Note)
		}
	}
	return strings.Join(notes, "; ")
}

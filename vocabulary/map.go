package vocabulary

import (
	"errors"
	"slices"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/quote"
	"github.com/prove-model/prove-model/internal/refuse"
)

// Array is a dense, row-major tensor of strings or of numbers.
type Array struct {
	Name    string
	Shape   []int
	Strings []string // nil if the array has numbers
	Numbers []float64
}

// isStrings says whether the array has strings.
func (a *Array) isStrings() bool { return a.Strings != nil }

// Bounds on the numbers, the strings, and the bytes of strings that one call of Map may
// make.
const (
	maxNumbers = 1 << 25
	maxStrings = 1 << 21
	maxBytes   = 1 << 26
)

// budget is how much Map may still make.
type budget struct {
	numbers, strings, bytes int
	decode                  Decoder // decodes pictures; nil if there is none
}

var errBudget = errors.New("more than may be made of one input: give fewer rows at once")

// size returns the number of entries of a shape. It refuses one with more than
// maxNumbers.
func size(shape []int) int {
	n := 1
	for _, d := range shape {
		if d < 0 || d != 0 && n > maxNumbers/d {
			must.OK(errBudget)
		}
		n *= d
	}
	return n
}

// take subtracts n from a part of the budget, and refuses if less is left.
func take(from *int, n int) {
	if n > *from {
		must.OK(errBudget)
	}
	*from -= n
}

// numbersOf makes an array of the results of number for each string of a.
func (b *budget) numbersOf(a Array, number func(s string) float64) []Array {
	out := b.ofNumbers(a.Shape)
	for i, s := range a.Strings {
		out.Numbers[i] = number(s)
	}
	return []Array{out}
}

// ofNumbers makes an array of zeros.
func (b *budget) ofNumbers(shape []int) Array {
	n := size(shape)
	take(&b.numbers, n)
	return Array{Shape: shape, Numbers: make([]float64, n)}
}

// ofStrings makes an array of empty strings.
func (b *budget) ofStrings(shape []int) Array {
	n := size(shape)
	take(&b.strings, n)
	return Array{Shape: shape, Strings: make([]string, n)}
}

// Map maps the inputs of the model that are strings or files to numbers. It returns Results, each with its name.
// strings has an array for each of these inputs, with its name and shape, in any order. decode decodes files of
// pictures; it may be nil if there are none.
func (v *Vocabulary) Map(strings []Array, decode Decoder) (out []Array, err error) {
	defer must.Catch(&err)
	values := map[string]Array{}
	for _, a := range strings {
		n, err := refuse.Result(func() int { return size(a.Shape) })
		refuse.If(err != nil || n != len(a.Strings), "input %s has %d strings for shape %v", quote.Name(a.Name), len(a.Strings), a.Shape)
		if a.Strings == nil {
			a.Strings = []string{}
		}
		values[a.Name] = a
	}
	for _, in := range v.Inputs {
		a, ok := values[in.Name]
		mapped := in.Strings || in.File
		refuse.If(mapped && !ok, "input %s, which is mapped to numbers, is missing", quote.Name(in.Name))
		fits := len(a.Shape) == len(in.Shape)
		for axis := range in.Shape {
			fits = fits && (in.Shape[axis] == 0 || in.Shape[axis] == a.Shape[axis])
		}
		refuse.If(mapped && !fits, "input %s has shape %v, and the model takes %v", quote.Name(in.Name), a.Shape, in.Shape)
	}
	b := &budget{maxNumbers, maxStrings, maxBytes, decode}
	for i := range v.Steps {
		refuse.Within("mapping to numbers, "+quote.Name(v.Steps[i].Out[0]), func() { v.Steps[i].apply(values, b) })
	}
	for _, name := range v.Results {
		a := values[name]
		refuse.If(a.isStrings() || a.Shape == nil && a.Numbers == nil, "mapping to numbers: %s is no number", quote.Name(name))
		a.Name = name
		out = append(out, a)
	}
	return out, nil
}

// apply runs a step. It reads its operands from values, and adds its results, by their
// names.
func (s *Step) apply(values map[string]Array, b *budget) {
	o := s.operation()
	in, dims := make([]Array, len(s.In)), make([][]Dim, len(s.In))
	for i, name := range s.In {
		a, ok := values[name]
		refuse.If(!ok || !a.isStrings(), "it reads %s, which is not of strings", quote.Name(name))
		in[i], dims[i] = a, known(a.Shape)
	}
	out := o.run(in, lengths(o.shapes(dims)[0]), b)
	for i, name := range s.Out {
		if name != "" {
			values[name] = out[i]
		}
	}
}

// Unknown is the length of an axis whose length depends on the strings.
const Unknown = -1

// Dim is the length of an axis: N, which may be Unknown. A symbol names an axis of the model's inputs that may have
// any length; all axes with the same symbol have the same length.
type Dim struct {
	N      int
	Symbol string
}

// Shapes returns the shapes of a step's results, from those of its operands.
func (s *Step) Shapes(in [][]Dim) ([][]Dim, error) {
	return refuse.Result(func() [][]Dim { return s.operation().shapes(in) })
}

// sameShapes is the shape rule of operations with one result, which has the shape of the
// only operand.
func sameShapes(in [][]Dim) [][]Dim { return [][]Dim{slices.Clone(in[0])} }

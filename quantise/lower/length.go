package lower

import (
	"maps"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

// Length returns the symbol of the length of a text: the second axis of all inputs,
// which are integers of shape [1, length], if the model leaves it open and nothing
// else. Lists of integers of fixed length, such as positions of the text, may follow
// the first, and one whose length is open too (Written). It is "" if there is none.
func Length(fg *graph.Graph) string {
	length, _ := textSymbols(fg)
	return length
}

// Written returns the symbol of the length of a list beside the length of a text
// (Length), such as that of the positions whose logits it gives. It is "" if there is none.
func Written(fg *graph.Graph) string {
	_, list := textSymbols(fg)
	return list
}

// textSymbols returns the symbols of Length and Written.
func textSymbols(fg *graph.Graph) (length, list string) {
	if fg.Rebind == nil {
		return "", ""
	}
	for i, in := range fg.Inputs {
		s := in.Symbols
		switch {
		case in.DType.IsFloat():
			return "", ""
		case i > 0 && len(in.Shape) == 1:
			if open := len(s) == 1 && s[0] != ""; open && (s[0] == length || list != "") {
				return "", ""
			} else if open {
				list = s[0]
			}
		case len(s) != 2 || s[0] != "" || s[1] == "" || in.Shape[0] != 1 || i > 0 && s[1] != length:
			return "", ""
		default:
			length = s[1]
		}
	}
	return length, list
}

// A free length is tried with its bound, for which all numbers are chosen, and with
// these sizes: of the text, and of the list beside it, if its length is free.
var shortTexts = [][]int{{2, 3}, {3, 2}}

// usualLength is the length of a text for which tables are worth their rows, and usualWritten that of
// a list beside it.
const (
	usualLength  = 32
	usualWritten = 8
)

// textsOf are the variants of a model of texts of up to a length: for that, for which all numbers are chosen,
// and for short ones, which compute the same values. So static bounds hold for every length, and integers do not
// depend on it: a prefix of a text gives what it gives within the text, as far as the
// model looks back alone. The length of a list (Written) is free as well, up to the same bound.
func textsOf(fg *graph.Graph, most int) *variants {
	length, written := textSymbols(fg)
	v := &variants{of: fg, most: most, least: most, usual: []int{min(most, usualLength)}, texts: true}
	names := []string{length}
	if written != "" {
		names, v.least, v.usual = append(names, written), 1, append(v.usual, usualWritten)
	}
	for _, name := range names {
		v.free = append(v.free, model.FreeDim{Name: model.PrintableName(name), Bound: most})
	}
	refuse.If(most < 2 || most > fixed.LongestText, "a bound of %d: it is from 2 to %d", most, fixed.LongestText)
	for i, sizes := range append([][]int{{most, most}}, shortTexts...) {
		if sizes = sizes[:len(names)]; len(names) == 1 && i > 0 && sizes[0] == most {
			continue
		}
		named := map[string]int{}
		for f, name := range names {
			named[name] = sizes[f]
		}
		v.list = append(v.list, sized{sizes, must.Get(fg.Rebind(named))})
	}
	shrinkConstants(v.list)
	same := func(x, y *graph.Node) bool {
		return x.Output == y.Output && graph.Kind(x.Op) == graph.Kind(y.Op) && slices.Equal(x.Inputs, y.Inputs)
	}
	for _, b := range v.list[1:] { // which compute the same values in the same order
		refuse.If(!slices.EqualFunc(v.list[0].graph.Nodes, b.graph.Nodes, same), "the model is made of other nodes")
	}
	v.whole = wholeConstants(v.list)
	return v
}

// length is what the lowering of a model with a free length knows of it.
type length struct {
	*variants
	other *graph.Graph // the model for another length: what scales differs
	// numbers are those that the lowering for the bound has found, in the order in
	// which it has asked for them; others are given them.
	numbers []int
	given   bool
	at      int
}

// length is what lowering variant i knows of the length, given what the first lowering has become.
func (v *variants) length(i int, first *lowering) *length {
	if i == 0 {
		return &length{variants: v, other: v.list[1].graph}
	}
	return &length{variants: v, other: v.list[0].graph, numbers: first.length.numbers, given: true}
}

// free has a dimension of that length be free, of which another pass may have found numbers; nil: none is.
func (l *lowering) free(known *length) {
	if known == nil {
		return
	}
	f := *known
	f.at = 0
	l.length, l.wholes = &f, map[string]*graph.Tensor{}
	for name, t := range f.whole {
		l.wholes[name] = l.shown(name, t)
	}
	l.Usual = func(shape []int) int { // of a text of the usual length
		n := 1
		for _, d := range shape {
			if d == f.most {
				d = f.variants.usual[0]
			}
			n *= d
		}
		return f.number(n)
	}
}

// number is n in the lowering for the bound, and in others what n was there.
func (f *length) number(n int) int {
	switch {
	case !f.given:
		f.numbers = append(f.numbers[:f.at], n)
	case f.at < len(f.numbers):
		n = f.numbers[f.at]
	}
	f.at++ // where passes differ, so do their circuits, which Lift finds
	return n
}

// most is the largest number that n, a dimension or a product of some, is for any size
// of a free length.
func (l *lowering) most(n int) int {
	if l.length == nil {
		return n
	}
	return l.length.number(n)
}

// open reports whether an axis of a value has a free length.
func (l *lowering) open(name string, axis int) bool {
	if l.length == nil {
		return false
	}
	other := l.length.other.Shapes[name]
	return axis < len(other) && other[axis] != l.fg.Shapes[name][axis]
}

// whole returns a constant for the bound of a free length, and its shape in this
// lowering, nil if it is the same.
func (l *lowering) whole(name string) (t *graph.Tensor, part []int) {
	t = l.fg.Consts[name]
	if whole := l.wholes[name]; whole != nil {
		return whole, t.Shape
	}
	return t, nil
}

// begun is the part of a tensor from its beginning on that has a shape.
func (l *lowering) begun(id model.TensorID, part []int) model.TensorID {
	return l.VirtualOf(l.Circuit.Tensors[id].Name, l.View(id, model.SameIndexes(len(part)), part))
}

// wholeConstants returns the constants of the first graph whose shapes differ in
// others, which must have the first of their entries along every axis.
func wholeConstants(list []sized) map[string]*graph.Tensor {
	whole := map[string]*graph.Tensor{}
	for _, name := range slices.Sorted(maps.Keys(list[0].graph.Consts)) {
		all := list[0].graph.Consts[name]
		for _, b := range list[1:] {
			part := b.graph.Consts[name]
			if part == nil || slices.Equal(part.Shape, all.Shape) {
				continue
			}
			refuse.If(!begins(all, part), "the values of %q depend on it", name)
			whole[name] = all
		}
	}
	return whole
}

// begins reports whether a constant is the part of another one, of as many axes, that
// has the first of its entries along each.
func begins(all, part *graph.Tensor) bool {
	if len(part.Shape) != len(all.Shape) || all.DType.IsFloat() != part.DType.IsFloat() {
		return false
	}
	for i, d := range part.Shape {
		if d > all.Shape[i] {
			return false
		}
	}
	return sameEntries(begin(all, part.Shape), part)
}

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

// Length returns the symbol of the length of a text, if the model leaves that open: all inputs are
// integers of shape [1, length] with this symbol as their second dimension. After the first input there may also be
// lists of integers: of fixed length, and one whose length is another symbol (Written). The result is "" if the inputs
// are others.
func Length(fg *graph.Graph) string {
	length, _ := textSymbols(fg)
	return length
}

// Written returns the symbol of the open length of a list among the inputs of a model of texts
// (Length), such as the list of the positions whose logits are wanted. It is "" if there is none.
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

// shortTexts are the sizes for which a model with a free length is lowered besides the bound: the length of the text, and
// that of the list (Written), if it is free.
var shortTexts = [][]int{{2, 3}, {3, 2}}

// usualLength is the length of text for which look-ups are counted when tables are chosen (Builder.Usual), and for
// which the model is run at first. usualWritten is that of the list.
const (
	usualLength  = 32
	usualWritten = 8
)

// textsOf are the variants of a model of texts with up to `most` tokens: for most tokens, for which all scales and bounds are
// chosen, and for short texts, for which these are the same. So static bounds hold for every length, and the integers of
// a token do not depend on the length: a token that only looks back has the same integers in a text and in a prefix
// of it. The length of a list (Written) is free as well, up to the same bound.
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
	for _, b := range v.list[1:] { // for every length the same values have to be computed, in the same order
		refuse.If(!slices.EqualFunc(v.list[0].graph.Nodes, b.graph.Nodes, same), "the model is made of other nodes")
	}
	v.whole = wholeConstants(v.list)
	return v
}

// length is what a lowering knows of the free length of its model.
type length struct {
	*variants
	other *graph.Graph // the model for another length; a dimension that differs there depends on the length
	// numbers are the sizes at the bound that the lowering for the bound has asked for (number), in the order in
	// which it did. The lowerings for other lengths are given this list, and ask in the same order.
	numbers []int
	given   bool // whether the list is given
	at      int  // the position in it of the next one
}

// length is what the lowering of variant i knows of the length. first is the finished lowering for the bound, variant 0.
func (v *variants) length(i int, first *lowering) *length {
	if i == 0 {
		return &length{variants: v, other: v.list[1].graph}
	}
	return &length{variants: v, other: v.list[0].graph, numbers: first.length.numbers, given: true}
}

// free tells the pass about the free length; nil: no length is free. Another pass may have found known.numbers.
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
	l.Usual = func(shape []int) int { // the number of entries in a text of the usual length
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

// number returns n in the lowering for the bound. In the lowering for another length it returns the n that the lowering for
// the bound had in the same call.
func (f *length) number(n int) int {
	switch {
	case !f.given:
		f.numbers = append(f.numbers[:f.at], n)
	case f.at < len(f.numbers):
		n = f.numbers[f.at]
	}
	f.at++ // if passes make different calls, their circuits differ, which Lift finds
	return n
}

// most is the value at the bound of the free length of n, a dimension or a product of dimensions; n itself if no length
// is free.
func (l *lowering) most(n int) int {
	if l.length == nil {
		return n
	}
	return l.length.number(n)
}

// open reports whether the dimension of a value's axis depends on the free length.
func (l *lowering) open(name string, axis int) bool {
	if l.length == nil {
		return false
	}
	other := l.length.other.Shapes[name]
	return axis < len(other) && other[axis] != l.fg.Shapes[name][axis]
}

// whole returns the constant as it is at the bound of a free length. If its shape depends on the length, part is its
// shape in this lowering, otherwise nil.
func (l *lowering) whole(name string) (t *graph.Tensor, part []int) {
	t = l.fg.Consts[name]
	if whole := l.wholes[name]; whole != nil {
		return whole, t.Shape
	}
	return t, nil
}

// begun is the leading block of a tensor that has the shape part.
func (l *lowering) begun(id model.TensorID, part []int) model.TensorID {
	return l.VirtualOf(l.Circuit.Tensors[id].Name, l.View(id, model.SameIndexes(len(part)), part))
}

// wholeConstants returns the constants of the first graph, that for the bound, whose shapes differ in the other graphs. In
// these they have to be leading blocks of what they are in the first.
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

// begins reports whether part is a leading block of all (begin).
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

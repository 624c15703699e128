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

// quantiseLength quantises fg with a free length of up to opts.Length: it lowers the
// model for that and for short texts, with the numbers of the former, and lifts what
// comes out to a template. So static bounds hold for every length, and integers do not
// depend on it: a prefix of a text gives what it gives within the text, as far as the
// model looks back alone. The length of a list (Written) is free as well, up to the same bound.
func quantiseLength(fg *graph.Graph, ranges map[string]Range, opts Options, memory *Memory, symbol string) *Result {
	most := opts.Length
	free := []model.FreeDim{{Name: symbol, Bound: most}}
	if written := Written(fg); written != "" {
		free = append(free, model.FreeDim{Name: written, Bound: most})
	}
	if v := memory.variants; v == nil || v.of != fg || v.list[0].sizes[0] != most {
		memory.variants = textsOf(fg, most, free...)
	}
	list, whole := memory.variants.list, memory.variants.whole
	checkRanges(list[0].graph, ranges)
	t, first := lowerAll(list, free, func(i int, first *lowering) *lowering {
		l, f := newLowering(list[i].graph, ranges, opts, memory), &length{bound: most, whole: whole, other: list[0].graph}
		if i == 0 {
			f.other = list[1].graph
		} else {
			f.numbers, f.given = first.length.numbers, true
		}
		l.free(f)
		return l
	})
	usual := []int{min(most, usualLength)}
	if len(free) == 1 {
		bound(t, most)
	} else {
		bound(t, 1)
		usual = append(usual, min(t.Free[1].Bound, usualWritten))
	}
	return first.finish(t, model.Instance{Sizes: usual})
}

// textsOf are the variants of a model of texts: for the bound of their length, and for short ones,
// which compute the same values.
func textsOf(fg *graph.Graph, most int, free ...model.FreeDim) *variants {
	if most < 2 || most > fixed.LongestText {
		refuse.With("a bound of %d: it is from 2 to %d", most, fixed.LongestText)
	}
	var list []sized
	for i, sizes := range append([][]int{{most, most}}, shortTexts...) {
		if sizes = sizes[:len(free)]; len(free) == 1 && i > 0 && sizes[0] == most {
			continue
		}
		named := map[string]int{}
		for f, d := range free {
			named[d.Name] = sizes[f]
		}
		list = append(list, sized{sizes, must.Get(fg.Rebind(named))})
	}
	shrinkConstants(list)
	same := func(x, y *graph.Node) bool {
		return x.Output == y.Output && graph.Kind(x.Op) == graph.Kind(y.Op) && slices.Equal(x.Inputs, y.Inputs)
	}
	for _, b := range list[1:] { // which compute the same values in the same order
		if !slices.EqualFunc(list[0].graph.Nodes, b.graph.Nodes, same) {
			refuse.With("the model is made of other nodes")
		}
	}
	return &variants{fg, list, wholeConstants(list)}
}

// length is what the lowering of a model with a free length knows of it.
type length struct {
	bound int
	other *graph.Graph // the model for another length: what scales differs
	// whole are the constants of which a text has as many entries as it is long, for
	// the bound.
	whole map[string]*graph.Tensor
	// numbers are those that the lowering for the bound has found, in the order in
	// which it has asked for them; others are given them.
	numbers []int
	given   bool
	at      int
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
	l.Usual = func(shape []int) int { return f.number(f.usual(shape)) }
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

// usual is the number of entries of a shape for a text of the usual length.
func (f *length) usual(shape []int) int {
	n := 1
	for _, d := range shape {
		if d == f.bound {
			d = min(d, usualLength)
		}
		n *= d
	}
	return n
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
			if !begins(all, part) {
				refuse.With("the values of %q depend on it", name)
			}
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

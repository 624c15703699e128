package forward

import (
	"math/bits"
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// change says which entries of a tensor depend on one row of an input: those that have the row's index on one of the axes.
type change struct {
	input int    // the place of the input in Graph.Inputs; or nothing, or everything
	axes  uint16 // a set: bit a stands for axis a
}

// Values of change.input.
const (
	nothing    = -1 // no entry changes with rows
	everything = -2 // all entries may change
)

// join returns the change of a sum of two tensors.
func (c change) join(d change) change {
	switch {
	case c.input == nothing || d.input == everything:
		return d
	case d.input == nothing || c.input == everything:
		return c
	case c.input != d.input:
		return change{input: everything}
	}
	return change{c.input, c.axes | d.axes}
}

// layout finds, for every step, the axis that numbers rows.
//
// A tensor may have two such axes: the scores of an attention have one of queries and one of keys.
// The rows are then those of the axis that the outputs' rows need. In a causal model a new index on
// the other axis changes nothing in earlier rows of an output, because those entries are masked.
type layout struct {
	g       *model.Graph
	axes    []int    // by input: the axis of rows; −1 for an input that does not change
	tensors []change // by tensor, if known
	known   []bool   // by tensor: tensors has its change
	steps   []change // by step: the change of its results
	demand  []uint16 // by tensor: the set of axes along which one row is needed
	live    []bool   // by tensor: an output depends on it
	rows    []int    // by step: the axis of rows; or whole, or none
}

// Values of layout.rows.
const (
	none  = -1 // the step does not depend on rows, or no output depends on it
	whole = -2 // the whole step is computed again for every row
)

// newLayout returns the layout of a circuit. axes has the axis of rows of each input, −1 for an input that does not change.
func newLayout(g *model.Graph, axes []int) *layout {
	n := len(g.Tensors)
	l := &layout{
		g: g, axes: axes, tensors: make([]change, n), known: make([]bool, n), steps: make([]change, len(g.Steps)),
		demand: make([]uint16, n), live: make([]bool, n), rows: make([]int, len(g.Steps)),
	}
	for i := range g.Steps {
		s := &g.Steps[i]
		c := l.acc(&s.Acc, s.Shape)
		switch s.Kind {
		case model.StepDivide:
			c = c.join(l.of(s.Den))
		case model.StepMax:
			c = l.rowsOf(s)
		}
		l.steps[i] = c
		for _, id := range s.Results() {
			l.tensors[id], l.known[id] = c, true
		}
	}
	for _, id := range g.Outputs {
		l.want(id, single(l.of(id)))
	}
	for i := len(g.Steps) - 1; i >= 0; i-- {
		l.rows[i] = l.choose(i)
	}
	return l
}

// rowsOf returns the change of the result of a maximum step: that of its operand, without the last axis.
func (l *layout) rowsOf(s *model.Step) change {
	c := l.of(s.Den)
	c.axes &= 1<<len(s.Shape) - 1
	return lost(c)
}

// of returns the change of a tensor.
func (l *layout) of(id model.TensorID) change {
	if l.known[id] {
		return l.tensors[id]
	}
	t := &l.g.Tensors[id]
	c := change{input: nothing}
	switch t.Kind {
	case model.Input:
		if i := slices.Index(l.g.Inputs, id); l.axes[i] >= 0 {
			c = change{i, 1 << l.axes[i]}
		}
	case model.Virtual:
		for i := range t.Def {
			c = c.join(l.term(&t.Def[i], t.Shape))
		}
		if p := t.Product; p != nil {
			c = product(l.of(p.A), p.LabelsA, l.of(p.B), p.LabelsB, len(t.Shape))
		}
	}
	l.tensors[id], l.known[id] = c, true
	return c
}

// acc returns the change of an accumulator.
func (l *layout) acc(a *model.Acc, shape []int) change {
	c := change{input: nothing}
	for i := range a.Linear {
		c = c.join(l.term(&a.Linear[i], shape))
	}
	for i := range a.Products {
		p := &a.Products[i]
		c = c.join(product(l.of(p.A), p.LabelsA, l.of(p.B), p.LabelsB, len(shape)))
	}
	return c
}

// term returns the change of a summand of a tensor or step of this shape.
func (l *layout) term(t *model.Linear, shape []int) change {
	in := l.g.Tensors[t.Src].Shape
	c, picked := l.of(t.Src), change{input: nothing}
	for _, g := range groups(t.View) {
		if g.Map == model.MapPublic {
			picked = picked.join(l.ids(&g, shape))
		}
	}
	if c.input < 0 {
		return c.join(picked)
	}
	moved := change{input: c.input}
	for a, b := range follow(t.View, in, shape) {
		if b >= 0 && c.axes>>b&1 == 1 {
			moved.axes |= 1 << a
		}
	}
	switch {
	case moved.axes != 0:
		return moved.join(picked)
	case picked.input >= 0: // each row of the result reads the row of the source that the index input names
		return picked
	}
	return change{input: everything}
}

// ids returns the change that public indexes which wire a group cause in the view's output, of this shape.
func (l *layout) ids(g *model.Group, shape []int) change {
	c := l.of(g.Ids)
	if c.input < 0 {
		return c
	}
	ids := l.g.Tensors[g.Ids].Shape
	all := model.Axes(len(ids))
	out := change{input: c.input}
	for _, a := range g.Out {
		if b := same(g.Out, shape, a, all, ids); b >= 0 && c.axes>>b&1 == 1 {
			out.axes |= 1 << a
		}
	}
	if out.axes == 0 {
		return change{input: everything}
	}
	return out
}

// groups returns the groups of a view, which may be nil.
func groups(v *model.View) []model.Group {
	if v == nil {
		return nil
	}
	return v.Groups
}

// product returns the change of a product whose output has rank axes.
func product(a change, labelsA []int, b change, labelsB []int, rank int) change {
	x, y := labelled(a, labelsA, rank), labelled(b, labelsB, rank)
	switch {
	case a.input < 0 || b.input < 0 || a.input != b.input:
		x, y = lost(x), lost(y)
	case x.axes == 0 && y.axes == 0: // summed over on both sides
		return change{input: everything}
	}
	return x.join(y)
}

// lost returns c, or everything if c has an input and no axes left: the axis of the row has been summed over, so every entry may
// change.
func lost(c change) change {
	if c.input >= 0 && c.axes == 0 {
		c.input = everything
	}
	return c
}

// labelled returns the change c of an operand in terms of the axes of the product's output: the labels of its axes.
func labelled(c change, labels []int, rank int) change {
	out := change{input: c.input}
	for i, label := range labels {
		if c.axes>>i&1 == 1 && label < rank {
			out.axes |= 1 << label
		}
	}
	return out
}

// single returns the axis of a change, or −1 if it has none or several.
func single(c change) int {
	if c.input >= 0 && bits.OnesCount16(c.axes) == 1 {
		return bits.TrailingZeros16(c.axes)
	}
	return -1
}

// choose returns the row axis of step i, and records which tensors the step needs a
// row of. It is called from the last step to the first, so the needs of all later
// steps are known.
func (l *layout) choose(i int) int {
	s, c := &l.g.Steps[i], l.steps[i]
	live, wanted := false, uint16(0)
	for _, id := range s.Results() {
		live, wanted = live || l.live[id], wanted|l.demand[id]
	}
	if !live || s.Kind == model.StepZero {
		return none
	}
	axis := single(c)
	if one := (change{c.input, c.axes & wanted}); axis < 0 {
		axis = single(one)
	}
	for j := range s.Acc.Linear {
		t := &s.Acc.Linear[j]
		l.wantView(t, s.Shape, axis)
	}
	for j := range s.Acc.Products {
		l.wantFactors(&s.Acc.Products[j], axis)
	}
	if s.Den != model.None {
		l.want(s.Den, axis)
	}
	switch {
	case c.input == nothing:
		return none
	case axis < 0:
		return whole
	}
	return axis
}

// want records that one row of a tensor along axis is needed, or all of it if axis
// is −1.
func (l *layout) want(id model.TensorID, axis int) {
	l.live[id] = true
	if axis >= 0 {
		l.demand[id] |= 1 << axis
	}
	t := &l.g.Tensors[id]
	for i := range t.Def {
		l.wantView(&t.Def[i], t.Shape, axis)
	}
	if t.Product != nil {
		l.wantFactors(t.Product, axis)
	}
}

// wantFactors records which rows of its operands a product needs for one along an axis of its result.
func (l *layout) wantFactors(p *model.Product, axis int) {
	l.want(p.A, slices.Index(p.LabelsA, axis))
	l.want(p.B, slices.Index(p.LabelsB, axis))
}

// wantView records which rows of its source a summand needs for one row along an axis of a result of this shape.
func (l *layout) wantView(t *model.Linear, shape []int, axis int) {
	from := -1
	if axis >= 0 {
		from = follow(t.View, l.g.Tensors[t.Src].Shape, shape)[axis]
	}
	l.want(t.Src, from)
}

package forward

import (
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// RowCircuit is a circuit that computes one row of another circuit, the original, as Rows does. It is the same for all rows, so a machine
// can prepare it once and run it for every token of a text. Its steps are those of the original on one row. Values that depend on the
// row's index, such as the rotation for a position, are read by the index, which is an input. If steps read all rows of a tensor, such as
// the keys of an attention, there is a cache for that tensor: an input whose values stay from run to run, and into which each run writes
// its row.
type RowCircuit struct {
	// Graph has the inputs that Rows lists, then the original's inputs that do not change, then the caches. Its outputs are one row of
	// each output of the original.
	Graph   *model.Graph
	Weights model.Weights
	Rows    []RowInput
	Caches  []RowCache
	// Kept has the places, among the original's inputs, of those that do not change.
	Kept []int
}

// RowInput is an input that gets new values in every run: the new row of an input of the original or, with Index, the index of that row.
type RowInput struct {
	Input int // the place among the original's inputs
	Index bool
}

// RowCache is a tensor with all rows. After step Step, or before the first step if that is −1, a run writes the tensor Row into Whole,
// at the index that the tensor At has, along Axis.
type RowCache struct {
	Whole, Row, At model.TensorID
	Of             model.TensorID // the tensor of the original that Whole stands for
	Axis           int
	Step           int
}

// Values returns the values of the inputs in Rows for a run. at[i] is the index of the new row of input i of the original, and values[i]
// has the row's entries.
func (c *RowCircuit) Values(at []int, values [][]int32) [][]int32 {
	out := make([][]int32, len(c.Rows))
	for i, r := range c.Rows {
		if r.Index {
			out[i] = []int32{int32(at[r.Input])}
		} else {
			out[i] = values[r.Input]
		}
	}
	return out
}

// NewRowCircuit returns the circuit for a row of g. axes has the axis of the rows of each input, as for NewRows. It is an error, which
// names a step, if there is no such circuit: for example if the entries that a row reads depend on the row's index in another way than
// that an index input picks them.
func NewRowCircuit(g *model.Graph, weights model.Weights, axes []int) (c *RowCircuit, err error) {
	b := &rowBuilder{
		layout: newLayout(g, axes), c: &RowCircuit{Weights: slices.Clone(g.WithFormulas(weights))},
		rowsMade: map[rowKey]model.TensorID{}, wholeMade: map[model.TensorID]model.TensorID{}, indexes: map[int]model.TensorID{}, steps: map[model.TensorID]int{},
	}
	out := *g
	out.Tensors, out.Steps, out.Inputs, out.Outputs, out.Mults, out.Chunks = slices.Clone(g.Tensors), nil, nil, nil, nil, 1
	b.out, b.c.Graph = &out, &out
	var kept []model.TensorID
	for i, id := range g.Inputs {
		if axes[i] < 0 {
			b.c.Kept, kept = append(b.c.Kept, i), append(kept, id)
			continue
		}
		out.Tensors[id].Shape = cutShape(g.Tensors[id].Shape, axes[i])
		b.c.Rows, out.Inputs = append(b.c.Rows, RowInput{Input: i}), append(out.Inputs, id)
	}
	for i := range g.Steps {
		if s := &g.Steps[i]; s.Kind != model.StepZero {
			for _, id := range s.Results() {
				b.steps[id] = i
			}
		}
	}
	at := "" // the step or output that is being made, for the error
	defer func() {
		if err != nil {
			c, err = nil, fmt.Errorf("%s: %w", at, err)
		}
	}()
	defer must.Catch(&err)
	for i := range g.Steps {
		at = fmt.Sprintf("step %d (%s)", i, g.Steps[i].Name)
		b.step(i)
	}
	for _, id := range g.Outputs {
		at = fmt.Sprintf("output %q", g.Tensors[id].Name)
		axis := single(b.of(id))
		if axis < 0 {
			refuse.With("it has no axis of rows")
		}
		out.Outputs = append(out.Outputs, b.row(id, axis, b.of(id).input))
	}
	out.Inputs = append(out.Inputs, kept...)
	for i := range b.c.Caches {
		c := &b.c.Caches[i]
		out.Inputs = append(out.Inputs, c.Whole)
		c.Step = -1
		if made, ok := b.steps[c.Of]; ok {
			c.Step = b.moved[made]
		}
	}
	b.c.Weights = append(b.c.Weights, make(model.Weights, len(out.Tensors)-len(b.c.Weights))...)
	return b.c, nil
}

// rowBuilder makes a RowCircuit. Tensors keep the ids that they have in the original, and new ones are added behind them.
type rowBuilder struct {
	*layout
	out *model.Graph
	c   *RowCircuit

	rowsMade  map[rowKey]model.TensorID         // tensors that are rows of the original's
	wholeMade map[model.TensorID]model.TensorID // by tensor of the original: the tensor that has all its rows
	indexes   map[int]model.TensorID            // by input of the original: the input that is its row's index
	steps     map[model.TensorID]int            // by tensor of the original: the step whose result it is
	moved     []int                             // by step of the original: its index in the new circuit
}

// rowKey names a row of a tensor along an axis: the one with the same index as the new row of an input.
type rowKey struct {
	id          model.TensorID
	axis, input int
}

// add adds a tensor.
func (b *rowBuilder) add(t model.Tensor) model.TensorID {
	b.out.Tensors = append(b.out.Tensors, t)
	return model.TensorID(len(b.out.Tensors) - 1)
}

// index returns the input that is the index of an input's row.
func (b *rowBuilder) index(input int) model.TensorID {
	id, ok := b.indexes[input]
	if !ok {
		in := &b.g.Tensors[b.g.Inputs[input]]
		id = b.add(model.Tensor{Name: "index of " + in.Name, Shape: []int{1}, Kind: model.Input, Max: int64(in.Shape[b.axes[input]]) - 1})
		b.indexes[input] = id
		b.out.Inputs, b.c.Rows = append(b.out.Inputs, id), append(b.c.Rows, RowInput{input, true})
	}
	return id
}

// step adds step i on one row, or as a whole if it does not depend on rows. It adds nothing if no output depends on the step.
func (b *rowBuilder) step(i int) {
	s := b.g.Steps[i]
	axis, input := b.rows[i], b.layout.steps[i].input
	b.moved = append(b.moved, len(b.out.Steps))
	same := input == nothing && s.Kind != model.StepZero && (s.Out != model.None && b.live[s.Out] || s.Lo != model.None && b.live[s.Lo])
	switch {
	case axis == whole:
		refuse.With("all rows change with one")
	case axis == none && !same:
		return
	}
	s.Chunk = 0
	if axis >= 0 {
		s.Acc.Linear = b.terms(s.Acc.Linear, s.Shape, axis, input)
		s.Acc.Products = slices.Clone(s.Acc.Products)
		for j := range s.Acc.Products {
			b.factors(&s.Acc.Products[j], axis, input)
		}
		if s.Den != model.None {
			s.Den = b.row(s.Den, axis, input)
		}
		s.Shape = cutShape(s.Shape, axis)
		for _, id := range s.Results() {
			b.out.Tensors[id].Shape = s.Shape
		}
	}
	b.out.Steps = append(b.out.Steps, s)
}

// factors replaces the operands of a product by those for one row along an axis of its result.
func (b *rowBuilder) factors(p *model.Product, axis, input int) {
	p.A, p.B = b.factor(p.A, p.LabelsA, axis, input), b.factor(p.B, p.LabelsB, axis, input)
}

// factor returns the operand of a product for one row: a row of the tensor if one of its axes has the row's label, otherwise all of it.
func (b *rowBuilder) factor(id model.TensorID, labels []int, axis, input int) model.TensorID {
	if a := slices.Index(labels, axis); a >= 0 {
		return b.row(id, a, input)
	}
	return b.whole(id)
}

// terms returns the summands of one row along an axis of a tensor or step of this shape.
func (b *rowBuilder) terms(list []model.Linear, shape []int, axis, input int) []model.Linear {
	out := make([]model.Linear, len(list))
	for i := range list {
		out[i] = b.term(&list[i], shape, axis, input)
	}
	return out
}

// term returns one summand for terms.
func (b *rowBuilder) term(l *model.Linear, shape []int, axis, input int) model.Linear {
	t := *l
	if l.View == nil {
		t.Src = b.row(l.Src, axis, input)
		return t
	}
	t.View = l.View.Clone()
	rows := -1 // the axis of the source of which the row with the same index is read; −1 for all of it
	for i := range t.View.Groups {
		switch g := &t.View.Groups[i]; {
		case slices.Contains(g.Out, axis):
			rows = b.group(g, l.Src, shape, axis, input)
		case g.Map == model.MapPublic && b.of(g.Ids).input >= 0:
			g.Ids = b.whole(g.Ids)
		}
	}
	if rows >= 0 {
		t.Src = b.row(l.Src, rows, input)
	} else {
		t.Src = b.whole(l.Src)
	}
	return t
}

// group returns the axis of a view's source along which the group reads, for a row of the output along axis, the row with the same index.
// It returns −1 if all rows of the output read the same, or the entries that public indexes name; in a group of public indexes it
// replaces these by those of the row. Any other view is refused.
func (b *rowBuilder) group(g *model.Group, src model.TensorID, shape []int, axis, input int) (rows int) {
	j, in := slices.Index(g.Out, axis), b.g.Tensors[src].Shape
	why := "picked by a list" // for the error
	switch g.Map {
	case model.MapAffine:
		if len(g.In) == 0 || g.Strides[j] == 0 { // the same for all rows
			return -1
		}
		if len(g.Sum) == 0 && g.Base == 0 && g.Strides[j] == 1 && alone(g, j, shape) && shape[axis] <= in[g.In[0]] {
			return g.In[0]
		}
		why = "moved"
	case model.MapReshape:
		if rows = same(g.Out, shape, axis, g.In, in); rows >= 0 {
			return rows
		}
		why = "in several axes"
	case model.MapPublic:
		why = "picked along several axes"
		if alone(g, j, shape) {
			ids := b.g.Tensors[g.Ids].Shape
			if a := same(g.Out, shape, axis, model.Axes(len(ids)), ids); a >= 0 {
				g.Ids = b.row(g.Ids, a, input)
				return -1
			}
			why = "picked by entries of several axes"
		}
	}
	refuse.With("rows of %q that are %s", b.g.Tensors[src].Name, why)
	return -1
}

// row returns the tensor of the new circuit that is a row of tensor id along an axis, the one with the index of the input's new row. A
// result of a step that is computed on that row, and an input, keep their ids. Otherwise row adds a virtual tensor.
func (b *rowBuilder) row(id model.TensorID, axis, input int) model.TensorID {
	t, c := &b.g.Tensors[id], b.of(id)
	made, isMade := b.steps[id]
	switch {
	case t.Kind == model.Input && c.input == input && b.axes[input] == axis,
		isMade && b.layout.steps[made].input == input && b.rows[made] == axis:
		return id
	case c.input >= 0 && t.Kind != model.Virtual:
		if single(c) != axis || c.input == input {
			refuse.With("rows of %q along two axes", t.Name)
		}
	}
	key := rowKey{id, axis, input}
	if row, ok := b.rowsMade[key]; ok {
		return row
	}
	x := model.Tensor{Name: t.Name, Shape: cutShape(t.Shape, axis), Kind: model.Virtual, Frac: t.Frac, Min: t.Min, Max: t.Max}
	b.define(&x, id, axis, input)
	row := b.add(x)
	b.rowsMade[key] = row
	return row
}

// define sets the definition of a tensor row, a row of the tensor of. That of a virtual tensor is made of rows of its sources. The row of
// any other tensor is picked from all of its rows by the index of the input's row.
func (b *rowBuilder) define(row *model.Tensor, of model.TensorID, axis, input int) {
	t := &b.g.Tensors[of]
	switch {
	case t.Product != nil:
		p := *t.Product
		b.factors(&p, axis, input)
		row.Product = &p
	case t.Kind == model.Virtual:
		row.Def = b.terms(t.Def, t.Shape, axis, input)
	default:
		view := model.SameIndexes(len(t.Shape))
		view.Groups[axis] = model.Group{Out: []int{axis}, In: []int{axis}, Map: model.MapPublic, Ids: b.index(input)}
		row.Def = []model.Linear{{Coef: 1, Src: b.whole(of), View: view}}
	}
}

// whole returns the tensor of the new circuit that has all rows of tensor id: the tensor itself if it does not depend on rows, a virtual
// tensor of wholes if it is virtual, or a cache.
func (b *rowBuilder) whole(id model.TensorID) model.TensorID {
	t, c := &b.g.Tensors[id], b.of(id)
	if c.input == nothing {
		return id
	}
	if made, ok := b.wholeMade[id]; ok {
		return made
	}
	axis := single(c)
	if axis < 0 {
		refuse.With("all rows of %q, which has several axes of them", t.Name)
	}
	if t.Product != nil {
		refuse.With("all rows of %q, which is a product", t.Name)
	}
	x := *t
	if t.Kind == model.Virtual {
		x.Def = b.wholeTerms(t.Def)
	} else {
		x.Kind, x.Formula, x.Derived, x.Chunk = model.Input, nil, nil, 0
	}
	made := b.add(x)
	b.wholeMade[id] = made
	if x.Kind == model.Input {
		b.c.Caches = append(b.c.Caches, RowCache{Whole: made, Row: id, At: b.index(c.input), Of: id, Axis: axis})
	}
	return made
}

// wholeTerms returns the summands of a virtual tensor with whole sources, and with whole inputs of public indexes.
func (b *rowBuilder) wholeTerms(def []model.Linear) []model.Linear {
	def = slices.Clone(def)
	for i := range def {
		l := &def[i]
		l.Src = b.whole(l.Src)
		if l.View == nil {
			continue
		}
		l.View = l.View.Clone()
		for j := range l.View.Groups {
			if g := &l.View.Groups[j]; g.Map == model.MapPublic {
				g.Ids = b.whole(g.Ids)
			}
		}
	}
	return def
}

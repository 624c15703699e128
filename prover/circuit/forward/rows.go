package forward

import (
	"context"
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/matmul"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// Rows runs a circuit repeatedly while rows of its inputs are set one after the other, such as the tokens of a text. A row of a tensor
// has one index on the axis that numbers rows (layout). For every tensor with such an axis Rows computes only the new row and keeps
// the others, so the attention keys and values of earlier tokens are not computed again.
//
// In a causal circuit no row of an output depends on later rows of the inputs. The rows
// of the outputs are then those of a run on the whole inputs. Tensors without an axis of rows are
// computed again each time.
type Rows struct {
	*executor
	inputs [][]int32
	*layout
	at       []int                             // by input: the row that was set last
	run      int                               // how often compute has been called
	kept     []keptRow                         // by virtual tensor: the row that was computed last
	rowsOf   []*rowStep                        // by step; nil until a row of it is first computed
	virtuals []*rowLine                        // by virtual tensor, likewise
	held     []bool                            // by step: its keys are a tensor's values, so there is nothing to compute (heldKeys)
	matrices map[model.TensorID]*matmul.Matrix // fixed tensors that are multiplied by vectors
	// wholes has virtual tensors of which products read all rows, such as the keys of an
	// attention. set lists, for each input, the rows that have been set so far, in order.
	wholes map[model.TensorID]*wholeRows
	set    [][]int
	room   [3][]int32 // memory for a row's results
	spare  [][]int64  // memory for sums of virtual tensors
	// begun says for each input which rows have been set, or were known at the beginning. If it is nil, values may have been computed
	// from other rows. If it is not nil, they have not, and the keys of look-ups are kept (Witness).
	begun [][]bool
}

// rowStep has what is needed to compute a row of a step.
type rowStep struct {
	shape    []int   // of a row
	size     int     // entries of a row
	lies     rowLies // where a row is in the step's results
	linear   []rowTerm
	products []rowProduct
}

// rowLine has what is needed to compute a row of a virtual tensor along an axis. moved says that it has one summand, which only moves
// entries. next is the rowLine of the same tensor for another axis.
type rowLine struct {
	axis  int
	size  int // entries of a row
	moved bool
	terms []rowTerm
	next  *rowLine
}

// keptRow is row at of a tensor along an axis, as it was computed in call run of compute.
type keptRow struct {
	run, axis, at int
	v             ints.Ints
}

// NewRows runs a circuit on inputs, and returns Rows with which single rows of the inputs can be set afterwards. Rows of inputs that are
// not known yet may have any values in range. axes has the axis of the rows of each input, −1 for an input that does not change.
// NewRows copies the inputs.
func NewRows(ctx context.Context, g *model.Graph, weights model.Weights, inputs [][]int32, axes []int) (*Rows, error) {
	own := cloned(inputs)
	w, err := Run(ctx, g, weights, own)
	if err != nil {
		return nil, err
	}
	w.Keys = make([][]int32, len(g.Steps)) // only proofs need them
	return newRows(w, own, axes), nil
}

// Whole returns the number of steps that are computed as a whole whenever a row is set, and the
// number of steps of which only the new row is computed.
func (r *Rows) Whole() (steps, rows int) {
	for _, a := range r.rows {
		switch {
		case a == whole:
			steps++
		case a >= 0:
			rows++
		}
	}
	return steps, rows
}

// Set sets one row of every input that changes, and computes everything that depends on these rows. at[i] is the index of the row on the
// axis of input i, and values[i] has its entries.
func (r *Rows) Set(ctx context.Context, at []int, values [][]int32) error {
	for i := range r.g.Inputs {
		if r.axes[i] < 0 {
			continue
		}
		if err := r.put(i, at[i], values[i]); err != nil {
			return err
		}
	}
	return r.compute(ctx, func(int) bool { return true })
}

// put sets one row of an input.
func (r *Rows) put(input, at int, values []int32) error {
	t := &r.g.Tensors[r.g.Inputs[input]]
	axis := r.axes[input]
	if at < 0 || at >= t.Shape[axis] {
		return fmt.Errorf("input %q: row %d of %d", t.Name, at, t.Shape[axis])
	}
	row := *t
	row.Shape = cutShape(t.Shape, axis)
	if err := checkInput(&row, values); err != nil {
		return err
	}
	put(r.inputs[input], t.Shape, axis, at, values)
	r.at[input] = at
	r.set[input] = append(r.set[input], at)
	if r.begun != nil {
		r.begun[input][at] = true
	}
	return nil
}

// compute computes the new row of each step for which wanted is true.
func (r *Rows) compute(ctx context.Context, wanted func(step int) bool) error {
	clear(r.cache)
	r.run++
	for i, axis := range r.rows {
		if axis == none || r.held != nil && r.held[i] || !wanted(i) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		if axis == whole {
			err = r.executor.step(i)
			r.Keys[i] = nil
		} else {
			err = r.row(i, axis, r.at[r.steps[i].input])
		}
		if err != nil {
			return fmt.Errorf("step %d (%s): %w", i, r.g.Steps[i].Name, err)
		}
	}
	return nil
}

// Output returns the new row of output i, or all of its values if it has no axis of rows.
func (r *Rows) Output(i int) []int32 {
	id := r.g.Outputs[i]
	if axis := single(r.of(id)); axis >= 0 {
		return ints.All(r.read(id, axis, r.at[r.of(id).input]))
	}
	clear(r.cache)
	return ints.All(r.operand(id))
}

// row computes one row of a step.
func (r *Rows) row(i, axis, at int) error {
	s, p := &r.g.Steps[i], r.rowStep(i, axis)
	acc := r.accumulator(p.size)
	for j := range acc {
		acc[j] = s.Acc.Const
	}
	for j := range p.linear {
		r.add(acc, &p.linear[j], at)
	}
	for j := range p.products {
		p.products[j].add(r, acc, p.shape, at)
	}
	// By Out, Lo and keys: the tensor that the row belongs to, nil if it is not wanted, and the memory of the row.
	var places, rows [3][]int32
	if s.Out != model.None {
		places[0] = r.Values[s.Out]
	}
	if s.Lo != model.None {
		places[1] = r.Values[s.Lo]
	}
	if r.begun != nil && s.Kind == model.StepLookup {
		places[2] = r.Keys[i]
	}
	for k := range places {
		rows[k] = p.lies.row(places[k], at, &r.room[k])
	}
	if err := r.rowResults(s, axis, at, acc, rows); err != nil {
		return err
	}
	for k := range places {
		p.lies.put(places[k], at, rows[k])
	}
	return nil
}

// rowStep returns the rowStep of step i.
func (r *Rows) rowStep(i, axis int) *rowStep {
	p := r.rowsOf[i]
	if p == nil {
		s := &r.g.Steps[i]
		shape := cutShape(s.Shape, axis)
		p = &rowStep{shape, model.Size(shape), liesOf(s.Shape, axis), r.terms(s.Acc.Linear, s.Shape, axis), r.products(s.Acc.Products, axis)}
		r.rowsOf[i] = p
	}
	return p
}

// rowResults computes a row of a step's results from the row of its accumulator. rows has the memory for Out, Lo and keys.
func (r *Rows) rowResults(s *model.Step, axis, at int, acc []int64, rows [3][]int32) error {
	out, lo := rows[0], rows[1]
	if s.Kind == model.StepLookup {
		t := &r.g.Tables[s.Table]
		return lookUpAll(t, r.column(t), s.Shift, acc, out, lo, rows[2])
	}
	if err := checkBound(acc); err != nil {
		return err
	}
	switch s.Kind {
	case model.StepMax:
		greatest(out, ints.All(r.read(s.Den, axis, at)))
	case model.StepExact:
		for j, x := range acc {
			out[j] = int32(x)
		}
	case model.StepDivide:
		for j, d := range ints.All(r.read(s.Den, axis, at)) {
			if d <= 0 {
				return fmt.Errorf("entry %d: the divisor is %d, not positive", j, d)
			}
			out[j], lo[j] = divided(acc[j], int64(d))
		}
	}
	return nil
}

// wholeRows has all rows of a virtual tensor. They are up to date with regard to the first done rows in Rows.set.
type wholeRows struct {
	values ints.Int32s
	done   int
}

// all returns the values of a tensor. Those of a virtual tensor whose rows change one at a
// time are kept, and only the rows that have been set since are computed again.
func (r *Rows) all(id model.TensorID) ints.Ints {
	t, c := &r.g.Tensors[id], r.of(id)
	axis := single(c)
	if t.Kind != model.Virtual || axis < 0 {
		return r.operand(id)
	}
	set := r.set[c.input]
	w := r.wholes[id]
	if w == nil {
		w = &wholeRows{slices.Clone(ints.All(r.eval(id, r.cache))), len(set)}
		r.wholes[id] = w
	}
	for _, at := range set[w.done:] {
		put(w.values, t.Shape, axis, at, ints.All(r.virtual(id, axis, at)))
	}
	w.done = len(set)
	return w.values
}

// read returns a row of a tensor, as a tensor whose axis has length 1.
func (r *Rows) read(id model.TensorID, axis, at int) ints.Ints {
	t := &r.g.Tensors[id]
	if t.Kind != model.Virtual {
		switch v := r.eval(id, nil).(type) {
		case ints.Int8s:
			return ints.Int8s(take(v, t.Shape, axis, at))
		case ints.Int16s:
			return ints.Int16s(take(v, t.Shape, axis, at))
		default:
			return ints.Int32s(take(v.(ints.Int32s), t.Shape, axis, at))
		}
	}
	if v := r.cache[id]; v != nil {
		return ints.Int32s(take(ints.All(v), t.Shape, axis, at))
	}
	if k := &r.kept[id]; k.run == r.run && k.axis == axis && k.at == at && k.v != nil {
		return k.v
	}
	v := r.virtual(id, axis, at)
	r.kept[id] = keptRow{r.run, axis, at, v}
	return v
}

// scalar returns the entry of a row that has only one.
func (r *Rows) scalar(id model.TensorID, axis, at int) int64 {
	if v := r.Values[id]; v != nil {
		return int64(v[at])
	}
	switch v := r.read(id, axis, at).(type) {
	case ints.Int8s:
		return int64(v[0])
	case ints.Int16s:
		return int64(v[0])
	default:
		return int64(v.(ints.Int32s)[0])
	}
}

// virtual computes a row of a virtual tensor.
func (r *Rows) virtual(id model.TensorID, axis, at int) ints.Ints {
	p := r.virtuals[id]
	for p != nil && p.axis != axis {
		p = p.next
	}
	if p == nil {
		t := &r.g.Tensors[id]
		p = &rowLine{axis, model.Size(cutShape(t.Shape, axis)), moved(t) != nil, r.terms(t.Def, t.Shape, axis), r.virtuals[id]}
		r.virtuals[id] = p
	}
	if p.moved {
		if w, index := p.terms[0].row(at); w != nil {
			return w.Gather(r.read(p.terms[0].Src, p.terms[0].from, index))
		}
	}
	var acc []int64
	if n := len(r.spare); n > 0 {
		acc, r.spare = r.spare[n-1], r.spare[:n-1]
	}
	if cap(acc) < p.size {
		acc = make([]int64, p.size)
	}
	acc = acc[:p.size]
	clear(acc)
	for i := range p.terms {
		r.add(acc, &p.terms[i], at)
	}
	dst := make(ints.Int32s, len(acc))
	for i, x := range acc {
		dst[i] = int32(x)
	}
	r.spare = append(r.spare, acc)
	return dst
}

// cutShape returns the shape of one row along an axis: that axis has length 1.
func cutShape(shape []int, axis int) []int {
	out := slices.Clone(shape)
	out[axis] = 1
	return out
}

// around returns the number of entries of the axes before axis, and of those after it.
func around(shape []int, axis int) (before, after int) {
	return model.Size(shape[:axis]), model.Size(shape[axis+1:])
}

// take returns the entries with index at on an axis. The result may share memory with v.
func take[T any](v []T, shape []int, axis, at int) []T {
	before, after := around(shape, axis)
	if before == 1 {
		return v[at*after:][:after]
	}
	out := make([]T, 0, before*after)
	for b := range before {
		out = append(out, v[(b*shape[axis]+at)*after:][:after]...)
	}
	return out
}

// put sets the entries of v with index at on an axis to those of row. It is the inverse of take.
func put(v []int32, shape []int, axis, at int, row []int32) {
	before, after := around(shape, axis)
	for b := range before {
		copy(v[(b*shape[axis]+at)*after:][:after], row[b*after:])
	}
}

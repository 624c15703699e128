package forward

import (
	"slices"
	"unsafe"

	"github.com/prove-model/prove-model/prover/circuit/matmul"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// rowTerm is a summand of a row, along some axis, of a step or a virtual tensor. It caches what is the same for all rows.
type rowTerm struct {
	*model.Linear
	in, out []int // the shapes of the source and of the result
	axis    int   // of the result, along which it has rows

	// If every row of the result reads one row of the source, along axis from, wiring wires the row that is read to the row of the result.
	// It is nil until a row is first computed, and stays nil if the view reads more than one row.
	wiring *model.Wiring
	from   int
	group  *model.Group // says which row of the source is read; nil: the one with the same index
	stride int          // the stride of axis in an affine group
	lone   bool         // a row of the source and a row of the result have one entry each
}

// terms returns the summands for rows, along an axis, of a step or tensor of this shape.
func (r *Rows) terms(list []model.Linear, shape []int, axis int) []rowTerm {
	terms := make([]rowTerm, len(list))
	for i := range list {
		terms[i] = rowTerm{Linear: &list[i], in: r.g.Tensors[list[i].Src].Shape, out: shape, axis: axis}
	}
	return terms
}

// index returns which row of the source row at of the result reads. ok is false if the index is not on the source axis.
func (t *rowTerm) index(at int) (int, bool) {
	g := t.group
	switch {
	case g == nil || g.Map == model.MapReshape:
		return at, true
	case g.Map == model.MapIndex:
		return g.Index[at], g.Index[at] >= 0
	case g.Map == model.MapPublic:
		return int(g.Entries[at]), true
	}
	i := g.Base + at*t.stride
	return i, i >= 0 && i < t.in[t.from]
}

// remember caches the wiring of a cut that reads one row of the source.
func (t *rowTerm) remember(c cut) {
	t.from = c.axis
	if t.View != nil {
		for i := range t.View.Groups {
			g := &t.View.Groups[i]
			if j := slices.Index(g.Out, t.axis); j >= 0 {
				t.group = g
				if g.Map == model.MapAffine {
					t.stride = g.Strides[j]
				}
			}
		}
	}
	in, out := cutShape(t.in, c.axis), cutShape(t.out, t.axis)
	t.wiring = c.view.Wiring(in, out)
	t.lone = t.wiring.Whole() && model.Size(in) == 1 && model.Size(out) == 1
}

// row returns the index of the row of the source that row at of the result reads, and the wiring between the two rows. The wiring is nil if
// the row reads none, or more than one row.
func (t *rowTerm) row(at int) (w *model.Wiring, index int) {
	if t.wiring != nil {
		if index, ok := t.index(at); ok {
			return t.wiring, index
		}
	}
	c, ok := cutAt(t.View, t.in, t.out, t.axis, at)
	if !ok || c.axis < 0 {
		return nil, 0
	}
	t.remember(c)
	return t.wiring, c.index
}

// add adds row at of a summand to acc. It reads only one row of the source if it can, otherwise all of it.
func (r *Rows) add(acc []int64, t *rowTerm, at int) {
	if w, index := t.row(at); w != nil {
		if t.lone {
			acc[0] += t.Coef * r.scalar(t.Src, t.from, index)
		} else {
			w.Accumulate(acc, t.Coef, r.read(t.Src, t.from, index))
		}
		return
	}
	c, ok := cutAt(t.View, t.in, t.out, t.axis, at)
	if ok {
		c.view.Accumulate(acc, t.Coef, r.operand(t.Src), t.in, cutShape(t.out, t.axis))
		return
	}
	all := make([]int64, model.Size(t.out))
	t.View.Accumulate(all, t.Coef, r.operand(t.Src), t.in, t.out)
	for j, x := range take(all, t.out, t.axis, at) {
		acc[j] += x
	}
}

// rowProduct is a product in a row of a step. It caches the offsets of the operands' entries.
type rowProduct struct {
	*model.Product
	a, b rowFactor
	// chosen is set if an operand is itself a product. Then a is chosen.by, b is chosen.x, and by is chosen.w.
	chosen *chosen
	by     rowFactor
	lone   bool            // the rows of both operands have one entry
	laid   [4]*laidProduct // index 1 for an a, plus 2 for a b, that is read in place through a view (operand.axes)
}

// laidProduct is a product whose operands have their entries at known offsets. If one operand is a fixed matrix and the other a vector,
// matrix is that operand, and first says that it is a. sum says that the result is a single sum over entries that are adjacent in both
// operands, such as a sum of squares.
type laidProduct struct {
	*contraction
	matrix *matmul.Matrix
	first  bool
	sum    bool
}

// rowFactor is an operand of a product in a row of a step.
type rowFactor struct {
	id     model.TensorID
	labels []int
	axis   int // the axis of which one row is read; −1 if all rows are
	// If the tensor is a view that is read in place, source is the viewed tensor, and lies has the offsets there (operand.axes).
	source model.TensorID
	lies   [][]int
}

// factorOf returns the operand for tensor id, if the result has rows along axis.
func (r *Rows) factorOf(id model.TensorID, labels []int, axis int) rowFactor {
	return rowFactor{id: id, labels: labels, axis: slices.Index(labels, axis), source: model.None}
}

// products returns the products in rows, along an axis, of a step.
func (r *Rows) products(list []model.Product, axis int) []rowProduct {
	out := make([]rowProduct, len(list))
	for i := range list {
		p := &list[i]
		if c := newChosen(r.g, p); c != nil {
			out[i] = rowProduct{Product: p, chosen: c, a: r.factorOf(c.by, c.labelsBy, axis), b: r.factorOf(c.x, c.labelsX, axis), by: r.factorOf(c.w, c.labelsW, axis)}
			continue
		}
		f := rowProduct{Product: p, a: r.factorOf(p.A, p.LabelsA, axis), b: r.factorOf(p.B, p.LabelsB, axis)}
		f.lone = r.isLone(&f.a) && r.isLone(&f.b)
		out[i] = f
	}
	return out
}

// isLone reports whether an operand is a row of one entry.
func (r *Rows) isLone(f *rowFactor) bool {
	return f.axis >= 0 && model.Size(cutShape(r.g.Tensors[f.id].Shape, f.axis)) == 1
}

// operand returns the operand for row at of the result. Its axes are set if it is read in place through a view. Its shape is nil if it is a
// row (shaped).
func (f *rowFactor) operand(r *Rows, at int) operand {
	if f.axis >= 0 {
		return operand{v: r.read(f.id, f.axis, at), labels: f.labels}
	}
	if f.source != model.None && r.cache[f.id] == nil {
		return operand{v: r.all(f.source), axes: f.lies, shape: r.g.Tensors[f.id].Shape, labels: f.labels}
	}
	o := r.factor(f.id, f.labels, r.all)
	if o.axes != nil {
		// A view that needs padding is copied to new memory each time, and is not read in place.
		if src := moved(&r.g.Tensors[f.id]).Src; sameList(o.v, r.all(src)) {
			f.source, f.lies = src, o.axes
		}
	}
	return o
}

// sameList reports whether two lists have the same memory.
func sameList(a, b ints.Ints) bool {
	return a.Len() == b.Len() && a.Len() > 0 && a.Width() == b.Width() && unsafe.SliceData(ints.Bytes(a)) == unsafe.SliceData(ints.Bytes(b))
}

// add adds row at of a product to acc, whose shape is that of a row.
func (p *rowProduct) add(r *Rows, acc []int64, shape []int, at int) {
	if p.chosen != nil {
		p.chosen.addRow(r, p, acc, shape, at)
		return
	}
	if p.lone && len(acc) == 1 {
		acc[0] += p.Coef * r.scalar(p.a.id, p.a.axis, at) * r.scalar(p.b.id, p.b.axis, at)
		return
	}
	a, b := p.a.operand(r, at), p.b.operand(r, at)
	way := 0
	if a.axes != nil {
		way = 1
	}
	if b.axes != nil {
		way += 2
	}
	l := p.laid[way]
	if l == nil {
		l = r.lay(p, shape, a, b)
		p.laid[way] = l
	}
	x, y := list32(a.v), list32(b.v)
	switch {
	case l.sum && x != nil && y != nil:
		acc[0] += p.Coef * matmul.Dot(x[l.a.first():][:len(l.a.k)], y[l.b.first():][:len(l.b.k)])
	case l.matrix == nil:
		l.contraction.add(acc, p.Coef, a.v, b.v)
	case l.first:
		l.matrix.AddTimes(acc, p.Coef, ints.All(b.v))
	default:
		l.matrix.AddTimes(acc, p.Coef, ints.All(a.v))
	}
}

// lay returns the laidProduct of operands a and b, with a result of this shape.
func (r *Rows) lay(p *rowProduct, shape []int, a, b operand) *laidProduct {
	l := &laidProduct{contraction: newContraction(shape, p.a.shaped(r, a), p.b.shaped(r, b))}
	one := len(l.to)*len(l.a.free)*len(l.b.free) == 1 && len(l.a.k) > 0
	l.sum = one && consecutive(l.a.k) && consecutive(l.b.k)
	switch {
	case r.isMatrix(&p.a, l.contraction, l.a, l.b, a):
		l.matrix, l.first = r.matrixOf(p.a.id, a.v, len(l.a.k)), true
	case r.isMatrix(&p.b, l.contraction, l.b, l.a, b):
		l.matrix = r.matrixOf(p.b.id, b.v, len(l.b.k))
	}
	return l
}

// list32 returns v as a slice if its entries have 32 bits, otherwise nil.
func list32(v ints.Ints) []int32 {
	w, _ := v.(ints.Int32s)
	return w
}

// shaped returns the operand with its shape set, also if it is a row.
func (f *rowFactor) shaped(r *Rows, o operand) operand {
	if o.shape == nil {
		o.shape = cutShape(r.g.Tensors[f.id].Shape, f.axis)
	}
	return o
}

// leastMatrix is the least number of entries for which a matmul.Matrix is made.
const leastMatrix = 1 << 12

// isMatrix reports whether an operand, with offsets m, is a fixed row-major matrix, and the other one, with offsets v, a vector that its
// rows are multiplied by.
func (r *Rows) isMatrix(f *rowFactor, c *contraction, m, v side, o operand) bool {
	return o.axes == nil && o.v.Len() == len(m.free)*len(m.k) && r.areRows(f, c, m, v)
}

// areRows reports whether side m of a product has adjacent rows of a fixed tensor of at least leastMatrix entries, and side v is a vector.
func (r *Rows) areRows(f *rowFactor, c *contraction, m, v side) bool {
	n, k := len(m.free), len(m.k)
	if r.g.Tensors[f.id].Kind != model.Fixed || f.axis >= 0 || n*k < leastMatrix {
		return false
	}
	if len(c.to) != 1 || c.to[0] != 0 || m.batch[0] != 0 || v.batch[0] != 0 { // several products, or one that does not begin at offset 0
		return false
	}
	if len(v.free) != 1 || v.free[0] != 0 || v.out[0] != 0 || !regular(v.k, 1) { // v is not a vector
		return false
	}
	return regular(m.free, k) && regular(m.k, 1) && regular(m.out, 1)
}

// first returns the offset of a side's first entry.
func (s *side) first() int { return s.batch[0] + s.free[0] + s.k[0] }

// regular reports whether offsets are 0, step, 2·step, ….
func regular(offsets []int, step int) bool { return offsets[0] == 0 && apart(offsets, step) }

// consecutive reports whether each offset is 1 more than the one before.
func consecutive(offsets []int) bool { return apart(offsets, 1) }

// apart reports whether each offset is step more than the one before.
func apart(offsets []int, step int) bool {
	for i, o := range offsets {
		if o != offsets[0]+i*step {
			return false
		}
	}
	return true
}

// matrixOf returns a fixed tensor as a matrix with rows of k entries. Products of the same tensor share the matrix.
func (r *Rows) matrixOf(id model.TensorID, v ints.Ints, k int) *matmul.Matrix {
	m := r.matrices[id]
	if m == nil {
		m = matmul.NewMatrix(v, k)
		r.matrices[id] = m
	}
	return m
}

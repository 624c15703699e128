package forward

import (
	"slices"
	"unsafe"

	"github.com/prove-model/prove-model/prover/circuit/matmul"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// rowTerm is a summand of a row: of a step, or of a virtual tensor, of some shape along some axis. It remembers what does not depend on
// which row it is.
type rowTerm struct {
	*model.Linear
	in, out []int // shapes of the source and of the result
	axis    int

	// Where the view reads one index of a source axis, whichever row it is, wiring is from that row to this one; else it is nil.
	wiring *model.Wiring
	from   int          // the source axis
	group  *model.Group // that says which index; nil: the row's own
	stride int          // of the axis in an affine group
	lone   bool         // the row that is read has one entry, and so has this one
}

// terms returns the summands of what has a shape and rows along an axis.
func (r *Rows) terms(list []model.Linear, shape []int, axis int) []rowTerm {
	terms := make([]rowTerm, len(list))
	for i := range list {
		terms[i] = rowTerm{Linear: &list[i], in: r.g.Tensors[list[i].Src].Shape, out: shape, axis: axis}
	}
	return terms
}

// index returns which index of the source axis a row reads; false if it reads none, or others.
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

// remember keeps the wiring of a cut that reads one row.
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

// row returns the row of the source that this row reads, and how it is wired; nil if that is not one row.
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

// add adds a row of a summand.
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

// rowProduct is a product of a row of a step. It remembers how the operands lie.
type rowProduct struct {
	*model.Product
	a, b rowFactor
	// chosen is not nil if an operand is itself a product; then a is what chooses, b what is multiplied, and by the third.
	chosen *chosen
	by     rowFactor
	lone   bool            // both operands' rows have one entry
	laid   [4]*laidProduct // by which operands are read in place through a view
}

// laidProduct is a product whose operands lie in memory in a known way. If one operand is a fixed matrix and each of its rows is
// multiplied by the other operand, matrix is that operand, and first says that it is the first of the two. sum says that the result
// is a single sum over adjacent entries, such as a sum of squares.
type laidProduct struct {
	*contraction
	matrix *matmul.Matrix
	first  bool
	sum    bool
}

// rowFactor is an operand of a product of a row.
type rowFactor struct {
	id     model.TensorID
	labels []int
	axis   int // of which the row is read; −1 if all is
	// If the tensor is a view of which every entry lies in its source, source is that, and lies says where.
	source model.TensorID
	lies   [][]int
}

func (r *Rows) factorOf(id model.TensorID, labels []int, axis int) rowFactor {
	return rowFactor{id: id, labels: labels, axis: slices.Index(labels, axis), source: model.None}
}

// products returns the products of what has rows along an axis.
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

// operand returns the values of an operand, and how they lie if they are read in place through a view. A row has no shape.
func (f *rowFactor) operand(r *Rows, at int) operand {
	if f.axis >= 0 {
		return operand{v: r.read(f.id, f.axis, at), labels: f.labels}
	}
	if f.source != model.None && r.cache[f.id] == nil {
		return operand{v: r.all(f.source), axes: f.lies, shape: r.g.Tensors[f.id].Shape, labels: f.labels}
	}
	o := r.factor(f.id, f.labels, r.all)
	if o.axes != nil {
		// What is padded is another list each time.
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

// add adds a row of a product to acc, whose shape is that of the row.
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

// lay lays a product out whose result has a shape.
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

// list32 returns a list of 32-bit numbers, nil for one of others.
func list32(v ints.Ints) []int32 {
	w, _ := v.(ints.Int32s)
	return w
}

// shaped returns the operand with its shape.
func (f *rowFactor) shaped(r *Rows, o operand) operand {
	if o.shape == nil {
		o.shape = cutShape(r.g.Tensors[f.id].Shape, f.axis)
	}
	return o
}

// leastMatrix is the least number of entries that are worth a matrix.
const leastMatrix = 1 << 12

// isMatrix reports whether an operand is a fixed matrix, row by row, that the other one is a vector for.
func (r *Rows) isMatrix(f *rowFactor, c *contraction, m, v side, o operand) bool {
	return o.axes == nil && o.v.Len() == len(m.free)*len(m.k) && r.areRows(f, c, m, v)
}

// areRows reports whether a side of a product has rows of a fixed tensor, one behind the other, and the other one is a vector.
func (r *Rows) areRows(f *rowFactor, c *contraction, m, v side) bool {
	n, k := len(m.free), len(m.k)
	if r.g.Tensors[f.id].Kind != model.Fixed || f.axis >= 0 || n*k < leastMatrix {
		return false
	}
	if len(c.to) != 1 || c.to[0] != 0 || m.batch[0] != 0 || v.batch[0] != 0 { // several products, or elsewhere
		return false
	}
	if len(v.free) != 1 || v.free[0] != 0 || v.out[0] != 0 || !regular(v.k, 1) { // no vector
		return false
	}
	return regular(m.free, k) && regular(m.k, 1) && regular(m.out, 1)
}

// first returns where the first of a side's entries lies.
func (s *side) first() int { return s.batch[0] + s.free[0] + s.k[0] }

// regular reports whether offsets begin at 0 and are step apart; consecutive, whether they are adjacent.
func regular(offsets []int, step int) bool { return offsets[0] == 0 && apart(offsets, step) }

func consecutive(offsets []int) bool { return apart(offsets, 1) }

func apart(offsets []int, step int) bool {
	for i, o := range offsets {
		if o != offsets[0]+i*step {
			return false
		}
	}
	return true
}

// matrixOf returns a tensor as a matrix with rows of k entries, which several products may share.
func (r *Rows) matrixOf(id model.TensorID, v ints.Ints, k int) *matmul.Matrix {
	m := r.matrices[id]
	if m == nil {
		m = matmul.NewMatrix(v, k)
		r.matrices[id] = m
	}
	return m
}

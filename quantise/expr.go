package quantise

import (
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// expr is a pending accumulator: a value that no tensor holds yet.
type expr struct {
	acc      model.Acc
	shape    []int
	frac     int   // the real value is the accumulator times 2^−frac
	min, max int64 // static bounds
	// norm bounds the Euclidean norm of the rows along the last axis, 0 if it is not
	// known; sums and products of the accumulator do not keep it.
	norm float64
}

// abs is the largest magnitude the accumulator may have.
func (e *expr) abs() int64 { return max(-e.min, e.max, 0) }

// linear reports whether the accumulator has no products.
func (e *expr) linear() bool { return len(e.acc.Products) == 0 }

// times returns c·e; the caller answers for the bound.
func (e *expr) times(c int64) *expr {
	if c == 1 {
		return e
	}
	out := &expr{shape: e.shape, frac: e.frac, min: e.min * c, max: e.max * c}
	if c < 0 {
		out.min, out.max = out.max, out.min
	}
	out.acc.Const = e.acc.Const * c
	for _, t := range e.acc.Linear {
		t.Coef *= c
		out.acc.Linear = append(out.acc.Linear, t)
	}
	for _, t := range e.acc.Products {
		t.Coef *= c
		out.acc.Products = append(out.acc.Products, t)
	}
	return out
}

// plus returns e + o; both have the same shape and frac.
func (e *expr) plus(o *expr) *expr {
	out := &expr{shape: e.shape, frac: e.frac, min: e.min + o.min, max: e.max + o.max}
	out.acc.Const = e.acc.Const + o.acc.Const
	out.acc.Linear = append(append(out.acc.Linear, e.acc.Linear...), o.acc.Linear...)
	out.acc.Products = append(append(out.acc.Products, e.acc.Products...), o.acc.Products...)
	return out
}

// tensorExpr is tensor id as an expression, through a view (nil: as it is) of
// the given shape.
func (l *builder) tensorExpr(id model.TensorID, v *model.View, shape []int) *expr {
	t := &l.g.Tensors[id]
	e := &expr{shape: shape, frac: t.Frac, min: t.Min, max: t.Max}
	e.acc.Linear = []model.Linear{{Coef: 1, Src: id, View: v}}
	return e
}

// room reports whether an accumulator of magnitude a can be rounded later.
func (l *builder) room(a float64) bool { return a <= float64(l.plan.limit()) }

// take returns the value as an expression of its shape for an accumulator to
// include: the pending one if nobody else wants it, its tensor otherwise.
func (l *lowering) take(v *value) *expr {
	if v.id == model.None && v.pending != nil && v.uses == 1 && slices.Equal(v.pending.shape, v.shape) {
		return v.pending
	}
	id := l.tensor(v)
	return l.tensorExpr(id, nil, v.shape)
}

// takeFlat is take for consumers that work entry by entry and do not mind the
// shape.
func (l *lowering) takeFlat(v *value) *expr {
	if v.id == model.None && v.pending != nil && v.uses == 1 {
		return v.pending
	}
	id := l.raw(v)
	return l.tensorExpr(id, nil, l.g.Tensors[id].Shape)
}

// exact makes a tensor of an accumulator as it is.
func (l *builder) exact(name string, e *expr) model.TensorID {
	id := l.witness(name, e.shape, e.frac, e.min, e.max)
	l.g.Steps = append(l.g.Steps, model.Step{
		Kind: model.StepExact, Name: l.name, Shape: e.shape, Acc: e.acc, Out: id, Lo: model.None, Table: model.None, Den: model.None,
	})
	return id
}

// rowProduct is a·b, entry by entry of one shape, which is in [0, most].
func (l *builder) rowProduct(shape []int, a, b model.TensorID, most int64) *expr {
	e := &expr{shape: shape, max: most}
	e.acc.Products = []model.Product{{Coef: 1, A: a, B: b, LabelsA: allLabels(shape), LabelsB: allLabels(shape)}}
	return e
}

package fixed

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/bounds"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// PlusConst is e + c, an integer on e's scale.
func (e *Int) PlusConst(c int64) *Int { return e.Plus(&Int{Acc: model.Acc{Const: c}, Min: c, Max: c}) }

// Int is an integer for each index of a shape, as an accumulator: a sum of views of tensors,
// products of tensors and a constant. No tensor holds it yet.
type Int struct {
	Acc      model.Acc
	Shape    []int
	Frac     int   // the real value is the integer times 2^−Frac
	Min, Max int64 // static bounds
	// Norm bounds the Euclidean norm of the rows along the last axis, 0 if it is not
	// known; Plus and Times do not keep it.
	Norm float64
}

// interval is the static bounds of the accumulator.
func (e *Int) interval() bounds.Interval { return bounds.Interval{Min: e.Min, Max: e.Max} }

// Abs is the largest magnitude the accumulator may have.
func (e *Int) Abs() int64 { return max(-e.Min, e.Max, 0) }

// Linear reports whether the accumulator has no products.
func (e *Int) Linear() bool { return len(e.Acc.Products) == 0 }

// Views reports whether the accumulator is a sum of views of tensors, without products and without a
// constant. Such a sum can define a virtual tensor.
func (e *Int) Views() bool { return e.Linear() && e.Acc.Const == 0 }

// Times returns c·e. It does not check that the result is within ±2^30; the caller does.
func (e *Int) Times(c int64) *Int {
	if c == 1 {
		return e
	}
	all := e.interval().Scale(c)
	out := &Int{Shape: e.Shape, Frac: e.Frac, Min: all.Min, Max: all.Max}
	out.Acc.Const = e.Acc.Const * c
	for _, t := range e.Acc.Linear {
		t.Coef *= c
		out.Acc.Linear = append(out.Acc.Linear, t)
	}
	for _, t := range e.Acc.Products {
		t.Coef *= c
		out.Acc.Products = append(out.Acc.Products, t)
	}
	return out
}

// Finer is the real value of e on a finer scale, in units that are 2^bits times smaller.
func (e *Int) Finer(bits int) *Int {
	if bits == 0 {
		return e
	}
	out := e.Times(1 << bits)
	out.Frac += bits
	return out
}

// Plus returns e + o; both have the same Shape and Frac.
func (e *Int) Plus(o *Int) *Int {
	all := e.interval().Add(o.interval())
	out := &Int{Shape: e.Shape, Frac: e.Frac, Min: all.Min, Max: all.Max}
	out.Acc.Const = e.Acc.Const + o.Acc.Const
	out.Acc.Linear = slices.Concat(e.Acc.Linear, o.Acc.Linear)
	out.Acc.Products = slices.Concat(e.Acc.Products, o.Acc.Products)
	return out
}

// Minus returns e − o; both have the same Shape and Frac.
func (e *Int) Minus(o *Int) *Int { return e.Plus(o.Times(-1)) }

// Within is e with the bounds [lo, hi], which the caller knows to hold although e's terms do not show it.
func (e *Int) Within(lo, hi int64) *Int {
	out := *e
	out.Min, out.Max = lo, hi
	return &out
}

// On has the integers of e on another scale, so that they stand for other real values.
func (e *Int) On(frac int) *Int {
	out := *e
	out.Frac = frac
	return &out
}

// Of is a tensor as an expression.
func (b *Builder) Of(id model.TensorID) *Int { return b.View(id, nil, b.Circuit.Tensors[id].Shape) }

// View is tensor id as an expression, through a view (nil: as it is) of
// the given shape.
func (b *Builder) View(id model.TensorID, v *model.View, shape []int) *Int {
	t := &b.Circuit.Tensors[id]
	e := &Int{Shape: shape, Frac: t.Frac, Min: t.Min, Max: t.Max}
	e.Acc.Linear = []model.Linear{{Coef: 1, Src: id, View: v}}
	return e
}

// Room reports whether an accumulator of magnitude a can be rounded with the plan's tables (Plan.Limit).
func (b *Builder) Room(a float64) bool { return a <= float64(b.Plan.Limit()) }

// rowProduct is x·y, entry by entry of a shape, as whole numbers, whatever the scales of x and y are. The
// caller knows that all products are in [0, most].
func (b *Builder) rowProduct(shape []int, x, y model.TensorID, most int64) *Int {
	return b.EntryProduct(shape, x, y).On(0).Within(0, most)
}

// DropBroadcast returns a tensor without the axes that KeptLabels drops, and the labels of the axes that are left.
func (b *Builder) DropBroadcast(id model.TensorID, labels, out []int) (model.TensorID, []int) {
	t := b.Circuit.Tensors[id]
	kept, dims := KeptLabels(t.Shape, labels, out)
	return b.Reshaped(t.Name, id, dims), kept
}

// fits30 reports whether e·2^s can be looked up: it is below 2^29, and its coefficients are below 2^30.
func (b *Builder) fits30(e *Int, s int) bool {
	return float64(e.Abs())*Pow2(s) < model.Bound/2 && coefficients(e)*Pow2(s) < model.Bound
}

// Product is Σ x·y, an einsum with the labels lx and ly (model.Product), of an output of the given
// shape. The sum is over the labels that are no axes of the output; it has count terms, which its
// bounds depend on.
func (b *Builder) Product(shape []int, x model.TensorID, lx []int, y model.TensorID, ly []int, count int) *Int {
	tx, ty := &b.Circuit.Tensors[x], &b.Circuit.Tensors[y]
	all := within(tx).Mul(within(ty)).Scale(int64(count))
	e := &Int{Shape: shape, Frac: tx.Frac + ty.Frac, Min: all.Min, Max: all.Max}
	e.Acc.Products = []model.Product{{Coef: 1, A: x, B: y, LabelsA: lx, LabelsB: ly}}
	return e
}

// Squeezed returns a tensor without the axes of dimension 1 that broadcast to longer axes of shape,
// and the labels of the axes that are left.
func (b *Builder) Squeezed(id model.TensorID, shape []int) (model.TensorID, []int) {
	t := b.Circuit.Tensors[id]
	labels, kept := BroadcastLabels(t.Shape, shape)
	return b.Reshaped(t.Name, id, kept), labels
}

// EntryProduct is x·y, entry by entry of a shape that both broadcast to.
func (b *Builder) EntryProduct(shape []int, x, y model.TensorID) *Int {
	x, lx := b.Squeezed(x, shape)
	y, ly := b.Squeezed(y, shape)
	return b.Product(shape, x, lx, y, ly, 1)
}

// Repeated returns a tensor broadcast to a shape, as a virtual tensor of that shape.
func (b *Builder) Repeated(id model.TensorID, shape []int) model.TensorID {
	t := b.Circuit.Tensors[id]
	if slices.Equal(t.Shape, shape) {
		return id
	}
	return b.Viewed("divisor", id, BroadcastView(t.Shape, shape), shape)
}

// Keys bounds round(e·2^(frac−e.Frac)), the integers that e becomes when it is rounded to the scale
// frac. On a scale that is finer than e's own they are the bounds of e itself.
func Keys(e *Int, frac int) (lo, hi int64) {
	shift := e.Frac - frac
	switch {
	case shift <= 0:
		return e.Min, e.Max
	case shift > 40:
		return -1, 1
	}
	h := int64(1) << (shift - 1)
	return (e.Min + h) >> shift, (e.Max + h) >> shift
}

// coefficients is the largest magnitude among the coefficients and the constant of an accumulator.
func coefficients(e *Int) float64 {
	c := math.Abs(float64(e.Acc.Const))
	for i := range e.Acc.Linear {
		c = math.Max(c, math.Abs(float64(e.Acc.Linear[i].Coef)))
	}
	for i := range e.Acc.Products {
		c = math.Max(c, math.Abs(float64(e.Acc.Products[i].Coef)))
	}
	return c
}

// scaled is c times a tensor, as a virtual tensor on the same scale.
func (b *Builder) scaled(name string, id model.TensorID, c int64) model.TensorID {
	if c == 1 {
		return id
	}
	return b.Virtual(name, b.Circuit.Tensors[id].Shape, []model.Linear{{Coef: c, Src: id}}, b.Circuit.Tensors[id].Frac)
}

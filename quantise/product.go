package quantise

import (
	"math"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// elementwise is the product v of two computed values, with broadcasting: in limbs of
// one if v is wide and they are.
func (l *lowering) elementwise(v, a, b *value) *expr {
	product := func(ida, idb model.TensorID) *expr {
		ida, la := l.squeezed(ida, v.shape)
		idb, lb := l.squeezed(idb, v.shape)
		return l.product(v.shape, ida, la, idb, lb, 1)
	}
	c := contraction{count: 1, limit: l.limitOf(v)}
	if l.integers(v.name) { // which are not rounded afterwards
		c.limit = max(c.limit, model.Bound/2)
	}
	if e := l.productLimbs(v, a, b, c, product); e != nil {
		return e
	}
	return product(l.fitProduct(a, b, c))
}

// contraction tells what a product sums over: count entries, which are the
// last axis of A or B if so marked; and how large it may be.
type contraction struct {
	count        int
	lastA, lastB bool
	limit        int64
}

// reach bounds a sum of products.
func (l *lowering) reach(a, b model.TensorID, c contraction) float64 {
	ma, mb := float64(l.magnitude(a)), float64(l.magnitude(b))
	most := ma * mb * float64(c.count)
	if s, ok := l.rowSums[a]; ok && c.lastA {
		most = math.Min(most, float64(s)*mb)
	}
	if s, ok := l.rowSums[b]; ok && c.lastB {
		most = math.Min(most, float64(s)*ma)
	}
	return most
}

// fitProduct returns tensors of a and b so that a sum of products fits the
// accumulator, rounding the wider one as often as that takes.
func (l *lowering) fitProduct(a, b *value, c contraction) (model.TensorID, model.TensorID) {
	ida, idb := l.tightened(a), l.tightened(b)
	for {
		over := l.reach(ida, idb, c) / float64(c.limit)
		if over <= 1 {
			return ida, idb
		}
		wide, v := &ida, a
		if l.magnitude(idb) > l.magnitude(ida) {
			wide, v = &idb, b
		}
		// Share the loss between the two.
		loss := 1
		for over > pow2(2*loss) {
			loss++
		}
		bits := model.Log2Ceil(int(l.magnitude(*wide))) - loss
		if bits < 4 {
			refuse("a sum of %d products does not fit in 30 bits with at least 4 bits a factor", c.count)
		}
		*wide = l.narrowed(v, bits)
	}
}

// product is Σ a·b over the labels that the output does not have, of which
// there are count combinations.
func (l *builder) product(shape []int, a model.TensorID, la []int, b model.TensorID, lb []int, count int) *expr {
	ta, tb := &l.g.Tensors[a], &l.g.Tensors[b]
	e := &expr{shape: shape, frac: ta.Frac + tb.Frac}
	e.min = min(ta.Min*tb.Min, ta.Min*tb.Max, ta.Max*tb.Min, ta.Max*tb.Max) * int64(count)
	e.max = max(ta.Min*tb.Min, ta.Min*tb.Max, ta.Max*tb.Min, ta.Max*tb.Max) * int64(count)
	e.acc.Products = []model.Product{{Coef: 1, A: a, B: b, LabelsA: la, LabelsB: lb}}
	return e
}

// broadcastLabels gives the labels of an operand that broadcasts to out, and
// its shape without the axes that do (a product has no label for those).
func broadcastLabels(shape, out []int) (labels, kept []int) {
	skip := len(out) - len(shape)
	for i, d := range shape {
		if d == out[i+skip] {
			labels = append(labels, i+skip)
			kept = append(kept, d)
		}
	}
	return labels, kept
}

// squeezed returns a tensor without the axes that broadcast to shape, and its
// labels.
func (l *builder) squeezed(id model.TensorID, shape []int) (model.TensorID, []int) {
	t := l.g.Tensors[id]
	labels, kept := broadcastLabels(t.Shape, shape)
	if len(kept) == len(t.Shape) {
		return id, labels
	}
	return l.virtual(t.Name, kept, []model.Linear{{Coef: 1, Src: id, View: reshapeView(t.Shape, kept)}}, t.Frac), labels
}

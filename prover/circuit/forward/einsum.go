package forward

import (
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/circuit/matmul"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// operand is a tensor in a product, with one label for each axis (model.Product).
// Its entry at index (i_0, i_1, …) is v[axes[0][i_0] + axes[1][i_1] + …].
type operand struct {
	v      ints.Ints
	axes   [][]int // nil if v has the entries densely, row-major
	shape  []int
	labels []int
}

// dense returns the operand of this shape whose entries are in v, row-major.
func dense(v ints.Ints, shape, labels []int) operand {
	return operand{v: v, shape: shape, labels: labels}
}

// laidOut returns the operand with its axes set.
func (o operand) laidOut() operand {
	if o.axes == nil {
		o.axes = denseAxes(o.shape)
	}
	return o
}

// denseAxes returns the axes of an operand (operand.axes) whose entries are row-major.
func denseAxes(shape []int) [][]int {
	axes := make([][]int, len(shape))
	for i, stride := len(shape)-1, 1; i >= 0; i-- {
		axes[i] = make([]int, shape[i])
		for j := range axes[i] {
			axes[i][j] = j * stride
		}
		stride *= shape[i]
	}
	return axes
}

// einsum adds coef·Σ A·B to acc (dense, of shape out).
func einsum(acc []int64, out []int, coef int64, a, b operand) {
	newContraction(out, a, b).add(acc, coef, a.v, b.v)
}

// contraction is a product of tensors as a batch of products of matrices. It has the offsets of the entries of both operands and of the
// result, and does not depend on the values. An index of the batch is one of the batch labels, a row of one of the labels that only A
// and the result have, a column one of those that only B and the result have, and k one of the contracted labels.
type contraction struct {
	to   []int // by index of the batch: the offset in the result
	a, b side
}

// newContraction returns the contraction of a and b into a dense result of shape out.
func newContraction(out []int, a, b operand) *contraction {
	return contractionTo(resultOf(out), a.laidOut(), b.laidOut())
}

// resultOf returns a dense result of shape out as an operand without values, whose axes have the labels 0, 1, ….
func resultOf(out []int) operand {
	return dense(nil, out, model.Axes(len(out))).laidOut()
}

// contractionTo returns the contraction of operands a and b into a result o, which need not be dense. All three have their axes set.
func contractionTo(o, a, b operand) *contraction {
	c := model.NewContraction(&model.Product{LabelsA: a.labels, LabelsB: b.labels}, a.shape, b.shape, o.shape)
	// If the product repeats along output axes, it is computed as a batch of equal
	// products.
	batch := newAxes(slices.Concat(c.Batch, c.Repeat))
	m, n, k := newAxes(c.FreeA), newAxes(c.FreeB), newAxes(c.Sum)
	return &contraction{
		to: batch.offsets(o),
		a:  side{batch: batch.offsets(a), free: m.offsets(a), k: k.offsets(a), out: m.offsets(o)},
		b:  side{batch: batch.offsets(b), free: n.offsets(b), k: k.offsets(b), out: n.offsets(o)},
	}
}

// add adds coef·Σ A·B to acc.
func (c *contraction) add(acc []int64, coef int64, a, b ints.Ints) {
	x, y := c.a, c.b
	if _, wide := a.(ints.Int32s); !wide {
		x, y, a, b = y, x, b, a
	}
	// One operand is usually a result of steps, with 32-bit entries. That is a by now, so widening it costs nothing, except in
	// products of two narrow tensors, which are rare.
	wide := ints.All(a)
	switch narrow := b.(type) {
	case ints.Int8s:
		multiply(acc, coef, c.to, wide, x, narrow, y)
	case ints.Int16s:
		multiply(acc, coef, c.to, wide, x, narrow, y)
	case ints.Int32s:
		multiply(acc, coef, c.to, wide, x, narrow, y)
	}
}

// side has the offsets of one side of a batch of products of matrices, as in matmul.Operand:
// batch, free and k in the operand, and out in the result.
type side struct{ batch, free, k, out []int }

// multiply adds coef times the products of the matrices to acc. x has the entries of a, and y those of b.
func multiply[T ints.Integer](acc []int64, coef int64, to []int, x []int32, a side, y []T, b side) {
	if len(a.free) == 1 && len(b.free) == 1 && len(a.k) == 1 { // element-wise
		// free, k and out have one offset each. It need not be 0, as a view may read its data from a later entry on.
		x, y, acc := x[a.free[0]+a.k[0]:], y[b.free[0]+b.k[0]:], acc[a.out[0]+b.out[0]:]
		parallel.For(len(to), grain, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				acc[to[i]] += coef * int64(x[a.batch[i]]) * int64(y[b.batch[i]])
			}
		})
		return
	}
	matmul.Int(acc, coef, to,
		matmul.Operand[int32]{Data: x, Batch: a.batch, Free: a.free, K: a.k, Out: a.out},
		matmul.Operand[T]{Data: y, Batch: b.batch, Free: b.free, K: b.k, Out: b.out})
}

// axes is a list of labels and their dimensions.
type axes struct{ labels, dims []int }

// newAxes returns the axes of these labels.
func newAxes(labels []model.Label) (x axes) {
	for _, l := range labels {
		x.labels = append(x.labels, l.ID)
		x.dims = append(x.dims, l.Dim)
	}
	return x
}

// offsets returns the offset in the operand of every combination of indexes of the labels,
// row-major. Labels that the operand does not have add nothing to an offset.
func (x *axes) offsets(o operand) []int {
	list := []int{0}
	for i, l := range x.labels {
		step := make([]int, x.dims[i])
		if at := slices.Index(o.labels, l); at >= 0 {
			step = o.axes[at]
		}
		next := make([]int, 0, len(list)*len(step))
		for _, from := range list {
			for _, s := range step {
				next = append(next, from+s)
			}
		}
		list = next
	}
	return list
}

package run

import (
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// axis is an axis of a product: its dimension, and its strides in the two
// operands and in the output, in entries; a stride is 0 where the axis does not occur.
type axis struct{ dim, a, b, out int }

// matMul describes a product of the model as a batch of matrix products on the
// dense tensors as they lie, without their addresses. The axes of the product are of four kinds:
// batch, rows of A, rows of B, and those that are summed over. If the axes of a kind cannot be
// flattened to one with strides, lists puts tables on the device that say where their entries lie.
func matMul(g *model.Graph, p *model.Product, out []int, lists func([]int32) kernels.Ptr) kernels.MatMul {
	shapeA, shapeB := g.Tensors[p.A].Shape, g.Tensors[p.B].Shape
	c := model.NewContraction(p, shapeA, shapeB, out)
	mm := kernels.MatMul{Coef: p.Coef, XBits: 31}
	t := &mm.Tables
	for i, labels := range [][]model.Label{append(c.Batch, c.Repeat...), c.FreeA, c.FreeB, c.Sum} {
		var axes []axis
		for _, l := range labels {
			if l.Dim > 1 {
				axes = append(axes, axis{l.Dim, stride(shapeA, l.A), stride(shapeB, l.B), stride(out, l.Out)})
			}
		}
		x, ok := flatten(axes)
		var ta, tb, to kernels.Ptr
		if !ok {
			table := func(of func(axis) int) kernels.Ptr {
				if list := places(axes, of); list[len(list)-1] != 0 {
					return lists(list)
				}
				return 0
			}
			ta, tb = table(func(y axis) int { return y.a }), table(func(y axis) int { return y.b })
			to = table(func(y axis) int { return y.out })
		}
		switch i {
		case 0:
			mm.Batches, mm.A.Batch, mm.B.Batch, mm.OutBatch = x.dim, x.a, x.b, x.out
			t.ABatch, t.BBatch, t.OutBatch = ta, tb, to
		case 1:
			mm.M, mm.A.Row, mm.OutRow, t.ARow, t.OutRow = x.dim, x.a, x.out, ta, to
		case 2:
			mm.N, mm.B.Row, mm.OutColumn, t.BRow, t.OutColumn = x.dim, x.b, x.out, tb, to
		case 3:
			mm.K, mm.A.Column, mm.B.Column, t.AColumn, t.BColumn = x.dim, x.a, x.b, ta, tb
		}
	}
	return mm
}

// places lists the offsets of the entries along several axes, of which the first is the outermost. `of` returns the stride of an axis.
func places(axes []axis, of func(axis) int) []int32 {
	list := []int32{0}
	for _, y := range axes {
		next := make([]int32, 0, len(list)*y.dim)
		for _, from := range list {
			for i := range y.dim {
				next = append(next, from+int32(i*of(y)))
			}
		}
		list = next
	}
	return list
}

// stride returns how far apart the entries along an axis are, 0 for no axis.
func stride(shape []int, axis int) int {
	if axis < 0 {
		return 0
	}
	return model.Size(shape[axis+1:])
}

// flatten makes one axis of several, of which the first is the outermost. ok says whether the result has strides, that is
// whether the stride of each axis is just what the next one covers; if not, only the dimension is set.
func flatten(axes []axis) (x axis, ok bool) {
	x, ok = axis{dim: 1}, true
	for i := len(axes) - 1; i >= 0; i-- {
		y := axes[i]
		ok = ok && (x.dim == 1 || y.a == x.a*x.dim && y.b == x.b*x.dim && y.out == x.out*x.dim)
		if x.dim == 1 {
			x = y
		} else {
			x.dim *= y.dim
		}
	}
	if !ok {
		x = axis{dim: x.dim}
	}
	return x, ok
}

// operands describes a product of matrices as matMul does, and returns its operands a and b. If one
// of them is a vector, it becomes operand a.
func operands(g *model.Graph, p *model.Product, out []int, lists func([]int32) kernels.Ptr) (mm kernels.MatMul, a, b model.TensorID) {
	mm = matMul(g, p, out, lists)
	if mm.N > 1 || mm.M == 1 {
		return mm, p.A, p.B
	}
	mm.A, mm.B, mm.M, mm.N, mm.OutRow, mm.OutColumn = mm.B, mm.A, mm.N, mm.M, mm.OutColumn, mm.OutRow
	t := &mm.Tables
	t.ABatch, t.BBatch, t.ARow, t.BRow, t.AColumn, t.BColumn = t.BBatch, t.ABatch, t.BRow, t.ARow, t.BColumn, t.AColumn
	t.OutRow, t.OutColumn = t.OutColumn, t.OutRow
	return mm, p.B, p.A
}

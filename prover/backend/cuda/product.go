package cuda

import (
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/model"
)

// axis is an axis of a product: its dimension and its strides in the two
// operands and in the output, 0 where it does not occur.
type axis struct{ dim, a, b, out int }

// matMul describes a product of the model as a batch of matrix products on the
// dense tensors as they lie, with no memory set. ok is false for one that is
// none: where axes of a kind do not lie behind each other, or where the output
// repeats entries.
func matMul(g *model.Graph, p *model.Product, out []int) (mm kernels.MatMul, ok bool) {
	shapeA, shapeB := g.Tensors[p.A].Shape, g.Tensors[p.B].Shape
	c := model.NewContraction(p, shapeA, shapeB, out)
	for _, l := range c.Repeat {
		if l.Dim > 1 {
			return mm, false
		}
	}
	var flat [4]axis
	for i, labels := range [][]model.Label{c.Batch, c.FreeA, c.FreeB, c.Sum} {
		var axes []axis
		for _, l := range labels {
			if l.Dim > 1 {
				axes = append(axes, axis{l.Dim, stride(shapeA, l.A), stride(shapeB, l.B), stride(out, l.Out)})
			}
		}
		if flat[i], ok = flatten(axes); !ok {
			return mm, false
		}
	}
	bt, mt, nt, kt := flat[0], flat[1], flat[2], flat[3]
	return kernels.MatMul{
		M: mt.dim, N: nt.dim, K: kt.dim, Batches: bt.dim, Coef: p.Coef, XBits: 31,
		A:      kernels.Matrix{Row: mt.a, Column: kt.a, Batch: bt.a},
		B:      kernels.Matrix{Row: nt.b, Column: kt.b, Batch: bt.b},
		OutRow: mt.out, OutColumn: nt.out, OutBatch: bt.out,
	}, bt.dim <= kernels.MaxBatches || mt.dim*nt.dim*kt.dim == 1
}

// stride returns how far apart the entries along an axis are, 0 for no axis.
func stride(shape []int, axis int) int {
	if axis < 0 {
		return 0
	}
	return model.Size(shape[axis+1:])
}

// flatten makes one axis of several, the first the outermost, if each steps
// over just what the next one covers.
func flatten(axes []axis) (axis, bool) {
	x := axis{dim: 1}
	for i := len(axes) - 1; i >= 0; i-- {
		y := axes[i]
		if x.dim > 1 && (y.a != x.a*x.dim || y.b != x.b*x.dim || y.out != x.out*x.dim) {
			return x, false
		}
		if x.dim == 1 {
			x = y
		} else {
			x.dim *= y.dim
		}
	}
	return x, true
}

// swapped is the product with the operands exchanged.
func swapped(p kernels.MatMul) kernels.MatMul {
	p.A, p.B, p.M, p.N, p.OutRow, p.OutColumn = p.B, p.A, p.N, p.M, p.OutColumn, p.OutRow
	return p
}

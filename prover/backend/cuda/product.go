package cuda

import (
	"slices"

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
	strideOf := func(shape, labels []int, label int) int {
		i := slices.Index(labels, label)
		if i < 0 {
			return 0
		}
		return model.Size(shape[i+1:])
	}
	outStride := func(label int) int {
		if label >= len(out) {
			return 0
		}
		return model.Size(out[label+1:])
	}
	var batch, m, n, k []axis
	add := func(label, dim int) {
		if dim == 1 {
			return
		}
		x := axis{dim, strideOf(shapeA, p.LabelsA, label), strideOf(shapeB, p.LabelsB, label), outStride(label)}
		switch {
		case x.out == 0:
			k = append(k, x)
		case x.b == 0:
			m = append(m, x)
		case x.a == 0:
			n = append(n, x)
		default:
			batch = append(batch, x)
		}
	}
	for i, l := range p.LabelsA {
		add(l, shapeA[i])
	}
	for i, l := range p.LabelsB {
		if !slices.Contains(p.LabelsA, l) {
			add(l, shapeB[i])
		}
	}
	for l, d := range out {
		if d > 1 && !slices.Contains(p.LabelsA, l) && !slices.Contains(p.LabelsB, l) {
			return mm, false
		}
	}
	var flat [4]axis
	for i, axes := range [][]axis{batch, m, n, k} {
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

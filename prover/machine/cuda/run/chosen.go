package run

import (
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
)

// ChosenOf describes for the kernels a tensor that is the product of two others, `by` and x (model.Graph.IsProduct), as for slots of
// experts. by has rows along all its axes but the last, which numbers the experts. x has the first axes of by, and one more, which is
// the last axis of the product. ChosenOf reports false for a product with another layout.
func ChosenOf(g *model.Graph, p *model.Product) (c kernels.Chosen, ok bool) {
	by, x := g.Tensors[p.A].Shape, g.Tensors[p.B].Shape
	rows, shared := len(by)-1, len(x)-1
	if rows < 0 || shared < 0 || shared > rows || !ordered(p.LabelsA) || !ordered(p.LabelsB[:shared]) || p.LabelsB[shared] != rows+1 {
		return c, false
	}
	return kernels.Chosen{Rows: model.Size(by[:rows]), Each: model.Size(by[shared:rows]), Experts: by[rows], K: x[shared]}, true
}

// ordered says whether labels are 0, 1, 2, ….
func ordered(labels []int) bool {
	for i, l := range labels {
		if l != i {
			return false
		}
	}
	return true
}

// isChosen says whether an operand of a product is itself defined by a product.
func isChosen(g *model.Graph, q *model.Product) bool { return g.IsProduct(q.A) || g.IsProduct(q.B) }

// chosen returns the launch of a product in which each row is multiplied with a few of many matrices, as of
// experts. It gives up with errNot if the layout is not the one that the kernels know.
func (c *compiler) chosen(p *part, q *model.Product, out []int) multiplication {
	z, w, labels, others := q.A, q.B, q.LabelsA, q.LabelsB
	if !c.g.IsProduct(z) {
		z, w, labels, others = w, z, others, labels
	}
	of := c.g.Tensors[z].Product
	x, ok := ChosenOf(c.g, of)
	rows := len(c.g.Tensors[z].Shape) - 2
	if !ok || len(out) != rows+1 || !ordered(labels[:rows]) || labels[rows] <= rows || labels[rows+1] <= rows ||
		!slices.Equal(others, []int{labels[rows], rows, labels[rows+1]}) {
		device.Check(errNot)
	}
	x.N = c.g.Tensors[w].Shape[1]
	x.By, x.X, x.W = c.source(p, of.A), c.source(p, of.B), c.source(p, w)
	return multiplication{by: w, reads: []kernels.Ptr{x.By.At, x.X.At, x.W.At}, do: func(k *work, at int, _ *kernels.Planes) error {
		x := x
		x.By, x.X, x.W = k.at(x.By), k.at(x.X), k.at(x.W)
		return kernels.ChosenAdd(k.dev, kernels.At[int64](k.acc, at), x, q.Coef)
	}}
}

package run

import (
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
)

// ChosenOf describes a tensor that a product defines, by which x is chosen (model.Graph.IsProduct), as the kernels want it: by
// has rows along all axes but its last, that of what is chosen; x has the first of these axes, and one that is summed over, which
// is the tensor's last. It reports false for one that is laid out in another way.
func ChosenOf(g *model.Graph, p *model.Product) (c kernels.Chosen, ok bool) {
	by, x := g.Tensors[p.A].Shape, g.Tensors[p.B].Shape
	rows, shared := len(by)-1, len(x)-1
	if rows < 0 || shared < 0 || shared > rows || !ordered(p.LabelsA) || !ordered(p.LabelsB[:shared]) || p.LabelsB[shared] != rows+1 {
		return c, false
	}
	return kernels.Chosen{Rows: model.Size(by[:rows]), Each: model.Size(by[shared:rows]), Experts: by[rows], K: x[shared]}, true
}

func ordered(labels []int) bool {
	for i, l := range labels {
		if l != i {
			return false
		}
	}
	return true
}

// isChosen says whether a product has an operand that is itself one.
func isChosen(g *model.Graph, q *model.Product) bool { return g.IsProduct(q.A) || g.IsProduct(q.B) }

// chosen returns the launch of a product with few matrices of many. What is laid out in
// another way than the kernels want is not for devices.
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

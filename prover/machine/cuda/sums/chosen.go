package sums

import (
	"context"
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// restrictProduct returns the table that a restriction of a tensor is that a product defines: made by a kernel, of one that
// is laid out as that wants it and of which all rows are bound, and otherwise by the processor.
func (b *Passes) restrictProduct(ctx context.Context, r backend.Restriction) table {
	t := &b.s.Graph.Tensors[r.Tensor]
	rows := len(t.Shape) - 2
	c, ok := run.ChosenOf(b.s.Graph, t.Product)
	if !ok || !slices.Equal(r.Keep, []int{rows, rows + 1}) {
		tables := device.Get(b.Backend.Restrict(ctx, []backend.Restriction{r}))
		values := tables[0].([]field.QM31)
		return table{device.NewCopy(b.s.Dev, values), model.Log2Ceil(len(values))}
	}
	c.By, c.X = b.s.Tensor(t.Product.A).Integers(), b.s.Tensor(t.Product.B).Integers()
	coords := slices.Concat(r.Bound[:rows]...)
	out := table{device.NewArray[field.QM31](b.s.Dev, kernels.PaddedSize([]int{c.Experts, c.K})), model.Log2Ceil(c.Experts) + model.Log2Ceil(c.K)}
	points := device.NewArray[field.QM31](b.s.Dev, len(coords)+c.Rows)
	if len(coords) > 0 {
		device.Check(kernels.UploadSlice(b.s.Dev, points, coords))
	}
	weights := kernels.At[field.QM31](points, len(coords))
	device.Check(kernels.EqTensor(b.s.Dev, weights, points, t.Shape[:rows]))
	device.Check(kernels.ChosenRestrict(b.s.Dev, out.at, weights, c))
	b.s.Dev.Free(points)
	return out
}

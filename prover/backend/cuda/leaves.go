package cuda

import (
	"context"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/logup"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/parallel"
)

// Fractions implements backend.Backend.
func (b *Backend) Fractions(ctx context.Context, l backend.Leaves) (_ logup.Tree, err error) {
	vars := logup.NumVars(l.Size)
	if vars < minTreeVars {
		return b.Backend.Fractions(ctx, l)
	}
	a := newScope(b.dev)
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	return pass(ctx, func() logup.Tree {
		nums, dens := b.leaves(ctx, a, l, 1<<vars)
		return newTree(a, b.mailbox(), nums, dens, vars)
	})
}

// leaves returns size numerators and denominators, l's and then 0/1.
func (b *Backend) leaves(ctx context.Context, a *scope, l backend.Leaves, size int) (nums, dens kernels.Ptr) {
	nums, dens = newArray[field.M31](a, size), newArray[field.QM31](a, size)
	at := func(i int) (num, den kernels.Ptr) {
		return kernels.At[field.M31](nums, i), kernels.At[field.QM31](dens, i)
	}
	for i := range l.Blocks {
		check(ctx.Err())
		blk := &l.Blocks[i]
		num, den := at(blk.Offset)
		base := kernels.LookupBase{
			Base: l.Alpha.Sub(l.Beta.Square().MulM31(backend.Tag(blk.Table))),
			Beta: l.Beta.Neg(),
		}
		if blk.Step < 0 {
			b.tableLeaves(blk, num, den, base)
		} else {
			b.stepLeaves(blk.Step, num, den, base)
		}
	}
	num, den := at(l.Size)
	check(kernels.LogUpFill(b.dev, num, den, size-l.Size))
	return nums, dens
}

func (b *Backend) stepLeaves(step int, num, den kernels.Ptr, base kernels.LookupBase) {
	st := &b.g.Steps[step]
	keys, err := NewTensor(b.dev, b.w.StepKeys(step))
	check(err)
	var outs kernels.Integers
	if st.Out != model.None {
		outs = b.tensor(st.Out).integers()
	}
	check(kernels.LogUpStepLeaves(b.dev, num, den, keys.integers(), outs, st.Shape, base))
	keys.Free(b.dev)
}

func (b *Backend) tableLeaves(blk *backend.LeafBlock, num, den kernels.Ptr, base kernels.LookupBase) {
	t := &b.g.Tables[blk.Table]
	var values kernels.Ptr
	if t.Kind != model.TableRange {
		values = newCopy(b.dev, tableValues(t, b.w))
	}
	check(kernels.LogUpTableLeaves(b.dev, num, den, b.tensor(blk.Mult).integers(), values, 1<<t.Bits, t.Min, base))
	b.dev.Free(values)
}

// tableValues returns the value column of a table that has one.
func tableValues(t *model.Table, w backend.Witness) []field.M31 {
	var column []int32
	if t.Kind == model.TableFunc {
		column = w.Tensor(t.Values)
	}
	values := make([]field.M31, 1<<t.Bits)
	parallel.For(len(values), tableGrain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			values[i] = field.FromInt64(t.Value(t.Min+int64(i), column))
		}
	})
	return values
}

// tableGrain is the number of rows worth a goroutine.
const tableGrain = 1 << 12

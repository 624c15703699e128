package cuda

import (
	"context"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/ints"
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
		nums, dens := b.leaves(ctx, a, l)
		return newTree(a, b.mailbox(), nums, dens, l.Size)
	})
}

// leaves returns numerators and denominators.
func (b *Backend) leaves(ctx context.Context, a *scope, l backend.Leaves) (nums, dens kernels.Ptr) {
	nums, dens = newArray[field.M31](a, l.Size), newArray[field.QM31](a, l.Size)
	base := func(t model.TableID) kernels.LookupBase {
		return kernels.LookupBase{Base: l.Alpha.Sub(l.Beta.Square().MulM31(backend.Tag(t))), Beta: l.Beta.Neg()}
	}
	var offsets []uint64
	for i := range l.Steps {
		for k := range l.Steps[i].Blocks {
			offsets = append(offsets, uint64(l.Steps[i].Blocks[k].Offset))
		}
	}
	var where kernels.Ptr
	if len(offsets) > 0 {
		where = newCopy(b.dev, offsets)
	}
	at := where
	for i := range l.Steps {
		check(ctx.Err())
		s := &l.Steps[i]
		keys, outs := b.columns(s.Step)
		check(kernels.LogUpStepLeaves(b.dev, nums, dens, keys, outs, at, b.g.Steps[s.Step].Shape, base(s.Table)))
		if !s.IsCut() {
			b.dropKeys(s.Step)
		}
		at = kernels.At[uint64](at, len(s.Blocks))
	}
	b.dev.Free(where)
	for i := range l.Tables {
		t := &l.Tables[i]
		b.tableLeaves(t, kernels.At[field.M31](nums, t.Block.Offset), kernels.At[field.QM31](dens, t.Block.Offset), base(t.Table))
	}
	return nums, dens
}

// columns returns the keys and outs of a look-up step, outs at address 0 if it has
// none. The keys stay on the device until they are dropped.
func (b *Backend) columns(step int) (keys, outs kernels.Integers) {
	t, ok := b.keys[step]
	if !ok {
		t = b.loadKeys(step)
		b.keys[step] = t
	}
	if out := b.g.Steps[step].Out; out != model.None {
		outs = b.tensor(out).integers()
	}
	return t.integers(), outs
}

// stepKeys are the keys of a look-up step on the device.
type stepKeys struct {
	*Tensor
	lent bool // they are the run's
}

// loadKeys returns the keys of a step. Those that a run has left here are counted as if
// they were the lane's, so that what it takes does not depend on where they come from.
func (b *Backend) loadKeys(step int) *stepKeys {
	if b.run != nil {
		if t := b.run.keysOn(b.m, step); t != nil {
			b.dev.book(t.Len * t.Width)
			return &stepKeys{t, true}
		}
	}
	t, err := NewTensor(b.dev, ints.Int32s(b.w.StepKeys(step)))
	check(err)
	return &stepKeys{t, false}
}

// dropKeys gives the keys of a step back, if they are there.
func (b *Backend) dropKeys(step int) {
	if t, ok := b.keys[step]; ok {
		if t.lent {
			b.dev.book(-t.Len * t.Width)
		} else {
			t.Free(b.dev)
		}
		delete(b.keys, step)
	}
}

func (b *Backend) tableLeaves(lt *backend.LeafTable, num, den kernels.Ptr, base kernels.LookupBase) {
	t := &b.g.Tables[lt.Table]
	var values kernels.Ptr
	if t.Kind != model.TableRange {
		values = newCopy(b.dev, tableValues(t, b.w))
	}
	check(kernels.LogUpTableLeaves(b.dev, num, den, b.tensor(lt.Mult).integers(), values, 1<<t.Bits, t.Min, base))
	b.dev.Free(values)
}

// tableValues returns the value column of a table that has one.
func tableValues(t *model.Table, w backend.Witness) []field.M31 {
	var column []int32
	if t.Kind == model.TableFunc {
		column = ints.All(w.Fixed(t.Values))
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

package cuda

import (
	"context"
	"errors"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/logup"
)

// Fractions implements backend.Backend.
func (b *Passes) Fractions(ctx context.Context, l backend.Leaves) (_ logup.Tree, err error) {
	vars := logup.NumVars(l.Size)
	if vars < minTreeVars {
		return b.Backend.Fractions(ctx, l)
	}
	a := newScope(b.s.dev)
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	return pass(ctx, func() logup.Tree {
		nums, dens := b.leaves(ctx, a, l)
		return newTree(a, b.s.mailbox(), nums, dens, l.Size)
	})
}

// leaves returns numerators and denominators, made in one launch.
func (b *Passes) leaves(ctx context.Context, a *scope, l backend.Leaves) (nums, dens kernels.Ptr) {
	nums, dens = newArray[field.M31](a, l.Size), newArray[field.QM31](a, l.Size)
	own := newScope(b.s.dev)
	defer own.close()
	base := func(t model.TableID) field.QM31 { return l.Alpha.Sub(l.Beta.Square().MulM31(backend.Tag(t))) }
	// What the jobs point to: places of blocks, and pieces of tables.
	var words []uint64
	for i := range l.Steps {
		for k := range l.Steps[i].Blocks {
			words = append(words, uint64(l.Steps[i].Blocks[k].Offset))
		}
	}
	places := 0
	pieces := make([]int, len(l.Tables))
	for i := range l.Tables {
		pieces[i] = len(words)
		if t := &b.s.g.Tables[l.Tables[i].Table]; t.Kind == model.TablePiecewise {
			words = append(words, kernels.TablePieces(t)...)
		}
	}
	var at kernels.Ptr
	if len(words) > 0 {
		at = newCopy(own, words)
	}
	var jobs kernels.LeafJobs
	for i := range l.Steps {
		check(ctx.Err())
		s := &l.Steps[i]
		keys, outs := b.s.columns(s.Step)
		// Keys that are a tensor lack a constant.
		own := base(s.Table).Sub(field.FromM31(keys.offset()))
		check(jobs.Step(keys.Integers, outs, kernels.At[uint64](at, places), b.s.g.Steps[s.Step].Shape, own))
		places += len(s.Blocks)
	}
	for i := range l.Tables {
		lt, t := &l.Tables[i], &b.s.g.Tables[l.Tables[i].Table]
		var values kernels.Integers
		if t.Kind == model.TableFunc {
			values = b.column(own, t.Values)
		}
		jobs.Table(t, b.s.tensor(lt.Mult).integers(), values, kernels.At[uint64](at, pieces[i]), lt.Block.Offset, base(lt.Table))
	}
	check(kernels.LogUpLeaves(b.s.dev, nums, dens, &jobs, newCopy(own, jobs.Jobs), l.Beta.Neg()))
	for i := range l.Steps {
		if s := &l.Steps[i]; !s.IsCut() {
			b.s.dropKeys(s.Step)
		}
	}
	return nums, dens
}

// column returns the values of a table, for as long as the scope if there is no room for
// them beside the other fixed tensors.
func (b *Passes) column(own *scope, id model.TensorID) kernels.Integers {
	t, err := b.s.find(id)
	if errors.Is(err, kernels.ErrMemory) {
		t, err = NewTensor(own, b.s.w.Fixed(id))
	}
	check(err)
	return t.integers()
}

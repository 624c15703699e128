package sums

import (
	"context"
	"errors"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
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
	a := device.NewScope(b.s.Dev)
	defer func() {
		if err != nil {
			a.Close()
		}
	}()
	return device.Pass(ctx, func() logup.Tree {
		nums, dens := b.leaves(ctx, a, l)
		return newTree(a, b.s.ResultBuffer(), nums, dens, l.Size, b.s.Context.Dry)
	})
}

// leaves returns numerators and denominators, made in one launch.
func (b *Passes) leaves(ctx context.Context, a *device.Scope, l backend.Leaves) (nums, dens kernels.Ptr) {
	nums, dens = device.NewArray[field.M31](a, l.Size), device.NewArray[field.QM31](a, l.Size)
	own := device.NewScope(b.s.Dev)
	defer own.Close()
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
		if t := &b.s.Graph.Tables[l.Tables[i].Table]; t.Kind == model.TablePiecewise {
			words = append(words, kernels.TablePieces(t)...)
		}
	}
	var at kernels.Ptr
	if len(words) > 0 {
		at = device.NewCopy(own, words)
	}
	var jobs kernels.LeafJobs
	for i := range l.Steps {
		device.Check(ctx.Err())
		s := &l.Steps[i]
		keys, outs := b.s.Columns(s.Step)
		// Keys that are a tensor lack a constant.
		own := base(s.Table).Sub(field.FromM31(keys.Offset()))
		device.Check(jobs.Step(keys.Integers(), outs, kernels.At[uint64](at, places), b.s.Graph.Steps[s.Step].Shape, own))
		places += len(s.Blocks)
	}
	for i := range l.Tables {
		lt, t := &l.Tables[i], &b.s.Graph.Tables[l.Tables[i].Table]
		var values kernels.Integers
		if t.Kind == model.TableFunc {
			values = b.column(own, t.Values)
		}
		jobs.Table(t, b.s.Tensor(lt.Mult).Integers(), values, kernels.At[uint64](at, pieces[i]), lt.Block.Offset, base(lt.Table))
	}
	device.Check(kernels.LogUpLeaves(b.s.Dev, nums, dens, &jobs, device.NewCopy(own, jobs.Jobs), l.Beta.Neg()))
	for i := range l.Steps {
		if s := &l.Steps[i]; !s.IsCut() {
			b.s.DropKeys(s.Step)
		}
	}
	return nums, dens
}

// column returns the values of a table, for as long as the scope if there is no room for
// them beside the other fixed tensors.
func (b *Passes) column(own *device.Scope, id model.TensorID) kernels.Integers {
	t, err := b.s.Find(id)
	if errors.Is(err, kernels.ErrMemory) {
		t, err = device.NewTensor(own, b.s.Witness.Fixed(id))
	}
	device.Check(err)
	return t.Integers()
}

package sums

import (
	"context"
	"encoding/binary"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// RowSums implements backend.Backend. Lists that several jobs have in common are uploaded once. All
// sums are made in one launch and downloaded together.
func (b *Passes) RowSums(ctx context.Context, jobs []backend.RowSum) ([][]field.QM31, error) {
	return device.Pass(ctx, func() [][]field.QM31 {
		if len(jobs) == 0 {
			return nil
		}
		a := device.NewScope(b.s.Dev)
		defer a.Close()
		places, lists := rowSumsLists(jobs)
		at := device.NewCopy(a, lists)
		var list kernels.RowJobs
		plus := make([]field.M31, len(jobs)) // by job: the constant that keys lack
		for i := range jobs {
			device.Check(ctx.Err())
			job := &jobs[i]
			keys, outs := b.s.Columns(job.Step)
			r := kernels.RowSums{Rows: job.Rows, Columns: len(job.Order), Parts: len(job.Ends), Weights: kernels.At[field.QM31](at, places[i])}
			r.Ends = kernels.At[field.QM31](r.Weights, len(job.Weights))
			r.Order = kernels.At[uint64](r.Ends, len(job.Ends))
			plus[i] = keys.Offset()
			device.Check(list.Add(keys.Integers(), outs, r, job.Beta))
		}
		out := device.NewArray[field.QM31](a, list.Sums)
		device.Check(kernels.LogUpRowSums(a, out, &list, device.NewCopy(a, list.Jobs)))
		all := device.Fetch[field.QM31](a, out, list.Sums)
		results := make([][]field.QM31, len(jobs))
		for i := range jobs {
			n := jobs[i].Rows * len(jobs[i].Ends)
			results[i], all = all[:n:n], all[n:]
			addConstant(results[i], jobs[i].Weights, jobs[i].Ends, plus[i])
		}
		return results
	})
}

// places lays out the data that n jobs read, one after the other. `of` returns for a job the key of its data and their size; jobs with
// equal keys share their data. places returns by job where its data begin (at), the jobs that have a key first, and the size of all data.
func places[K comparable](n int, of func(job int) (key K, room int)) (at, first []int, all int) {
	known := map[K]int{}
	for i := range n {
		key, room := of(i)
		place, ok := known[key]
		if !ok {
			place = all
			known[key], first, all = place, append(first, i), all+room
		}
		at = append(at, place)
	}
	return at, first, all
}

// rowSumsLists returns the lists of all jobs in one slice, and where those of each job begin: its weights, then
// its ends (64 bits each) and its order (32 bits each). Jobs with the same lists share them.
func rowSumsLists(jobs []backend.RowSum) (at []int, lists []field.QM31) {
	type key struct {
		order   *int
		weights *field.QM31
	}
	at, own, all := places(len(jobs), func(i int) (key, int) {
		job := &jobs[i]
		words := 8*len(job.Ends) + 4*len(job.Order)
		return key{&job.Order[0], &job.Weights[0]}, len(job.Order) + (words+device.ElementBytes-1)/device.ElementBytes
	})
	lists = make([]field.QM31, all)
	parallel.For(len(own), 1, func(from, to int) {
		for _, i := range own[from:to] {
			job := &jobs[i]
			words := kernels.Bytes(lists[at[i]+copy(lists[at[i]:], job.Weights):])
			for k, v := range job.Ends {
				binary.NativeEndian.PutUint64(words[8*k:], uint64(v))
			}
			for k, v := range job.Order {
				binary.NativeEndian.PutUint32(words[8*len(job.Ends)+4*k:], uint32(v))
			}
		}
	})
	return at, lists
}

// addConstant adds to sums what they would be of a column that is v everywhere: for each part of the weights, which end at ends, v times
// the sum of its weights. Keys that are read from a tensor lack such a constant.
func addConstant(sums, weights []field.QM31, ends []int, v field.M31) {
	if v == 0 {
		return
	}
	from := 0
	for p, end := range ends {
		var w field.QM31
		for _, x := range weights[from:end] {
			w = w.Add(x)
		}
		w = w.MulM31(v)
		for x := p; x < len(sums); x += len(ends) {
			sums[x] = sums[x].Add(w)
		}
		from = end
	}
}

// ColumnSums implements backend.Backend. It is the last pass that reads a step's keys, so it frees them.
func (b *Passes) ColumnSums(ctx context.Context, jobs []backend.ColumnSum) ([][]field.QM31, error) {
	return device.Pass(ctx, func() [][]field.QM31 {
		if len(jobs) == 0 {
			return nil
		}
		a := device.NewScope(b.s.Dev)
		defer a.Close()
		// Upload the weights, and the weights times β, together. Jobs with the same weights and β share them.
		type key struct {
			weights *field.QM31
			beta    field.QM31
		}
		own, first, all := places(len(jobs), func(i int) (key, int) { return key{&jobs[i].Weights[0], jobs[i].Beta}, 2 * len(jobs[i].Weights) })
		weights := make([]field.QM31, 0, all)
		for _, i := range first {
			weights = append(weights, jobs[i].Weights...)
			for _, w := range jobs[i].Weights {
				weights = append(weights, w.Mul(jobs[i].Beta))
			}
		}
		at := device.NewCopy(a, weights)
		var list kernels.ColumnJobs
		plus, sizes := make([]field.M31, len(jobs)), make([]int, len(jobs)) // by job: the constant that keys lack, and the number of results
		for i := range jobs {
			device.Check(ctx.Err())
			job, rows := &jobs[i], len(jobs[i].Weights)
			keys, outs := b.s.Columns(job.Step)
			mine := kernels.At[field.QM31](at, own[i])
			plus[i] = keys.Offset()
			sizes[i] = model.Size(b.s.Graph.Steps[job.Step].Shape) / job.Rows
			device.Check(list.Add(keys.Integers(), outs, rows, sizes[i], mine, kernels.At[field.QM31](mine, rows)))
		}
		out := device.NewArray[field.QM31](a, list.Sums)
		device.Check(kernels.LogUpColumnSums(a, out, &list, device.NewCopy(a, list.Jobs)))
		sums := device.Fetch[field.QM31](a, out, list.Sums)
		results := make([][]field.QM31, len(jobs))
		for i := range jobs {
			results[i], sums = sums[:sizes[i]:sizes[i]], sums[sizes[i]:]
			addConstant(results[i], jobs[i].Weights, []int{len(jobs[i].Weights)}, plus[i])
			b.s.DropKeys(jobs[i].Step)
		}
		return results
	})
}

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

// RowSums implements backend.Backend. Lists that several jobs have in common are there once, all
// sums are made in one launch, and all results come back at once.
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
		plus := make([]field.M31, len(jobs)) // on the keys
		for i := range jobs {
			device.Check(ctx.Err())
			job := &jobs[i]
			keys, outs := b.s.Columns(job.Step)
			r := kernels.RowSums{Rows: job.Rows, Columns: len(job.Order), Parts: len(job.Ends), Weights: kernels.At[field.QM31](at, places[i])}
			r.Ends = kernels.At[field.QM31](r.Weights, len(job.Weights))
			r.Order = kernels.At[uint64](r.Ends, len(job.Ends))
			plus[i] = keys.Offset()
			device.Check(list.Add(keys.Integers, outs, r, job.Beta))
		}
		out := device.NewArray[field.QM31](a, list.Sums)
		device.Check(kernels.LogUpRowSums(a, out, &list, device.NewCopy(a, list.Jobs)))
		all := device.Fetch[field.QM31](a, out, list.Sums)
		results := make([][]field.QM31, len(jobs))
		for i := range jobs {
			n := jobs[i].Rows * len(jobs[i].Ends)
			results[i], all = all[:n:n], all[n:]
			if plus[i] != 0 {
				addToParts(results[i], &jobs[i], plus[i])
			}
		}
		return results
	})
}

// rowSumsLists returns weights, ends (64 bits each) and order (32 bits each) of all jobs, those
// that are the same lists once, and where those of each job begin.
func rowSumsLists(jobs []backend.RowSum) (places []int, lists []field.QM31) {
	places = make([]int, len(jobs))
	of := map[*int]int{}
	var own []int // jobs with lists of their own
	all := 0
	for i := range jobs {
		job := &jobs[i]
		at, ok := of[&job.Order[0]]
		if !ok || &jobs[own[at]].Weights[0] != &job.Weights[0] {
			places[i] = all
			all += rowSumsRoom(len(job.Order), len(job.Ends))
			of[&job.Order[0]], own = len(own), append(own, i)
			continue
		}
		places[i] = places[own[at]]
	}
	lists = make([]field.QM31, all)
	parallel.For(len(own), 1, func(from, to int) {
		for _, i := range own[from:to] {
			job := &jobs[i]
			words := kernels.Bytes(lists[places[i]+copy(lists[places[i]:], job.Weights):])
			for k, v := range job.Ends {
				binary.NativeEndian.PutUint64(words[8*k:], uint64(v))
			}
			for k, v := range job.Order {
				binary.NativeEndian.PutUint32(words[8*len(job.Ends)+4*k:], uint32(v))
			}
		}
	})
	return places, lists
}

// addToParts adds to the sums of a job what they are of a column that is v everywhere.
func addToParts(sums []field.QM31, job *backend.RowSum, v field.M31) {
	parts, from := len(job.Ends), 0
	for p, end := range job.Ends {
		w := total(job.Weights[from:end]).MulM31(v)
		for x := p; x < len(sums); x += parts {
			sums[x] = sums[x].Add(w)
		}
		from = end
	}
}

func total(v []field.QM31) field.QM31 {
	var sum field.QM31
	for _, x := range v {
		sum = sum.Add(x)
	}
	return sum
}

// rowSumsRoom is the memory, in elements of K, of the lists of a job with so many columns
// and parts: weights, ends of 64 bits, and an order of 32 bits.
func rowSumsRoom(columns, parts int) int {
	return columns + (8*parts+4*columns+device.ElementBytes-1)/device.ElementBytes
}

// ColumnSums implements backend.Backend. It is a step's last pass, as package join
// has it, so that its keys are given back.
func (b *Passes) ColumnSums(ctx context.Context, jobs []backend.ColumnSum) ([][]field.QM31, error) {
	return device.Pass(ctx, func() [][]field.QM31 {
		a := device.NewScope(b.s.Dev)
		defer a.Close()
		if len(jobs) == 0 {
			return nil
		}
		// Weights, and the same times β, to be uploaded at once: those of one list once.
		var weights []field.QM31
		places := make([]int, len(jobs))
		last := map[*field.QM31]int{} // jobs by lists
		for i := range jobs {
			job := &jobs[i]
			if k, ok := last[&job.Weights[0]]; ok && jobs[k].Beta == job.Beta {
				places[i] = places[k]
				continue
			}
			last[&job.Weights[0]], places[i] = i, len(weights)
			weights = append(weights, job.Weights...)
			for _, w := range job.Weights {
				weights = append(weights, w.Mul(job.Beta))
			}
		}
		at := device.NewCopy(a, weights)
		var list kernels.ColumnJobs
		plus := make([]field.M31, len(jobs)) // on the keys
		results := make([][]field.QM31, len(jobs))
		sizes := make([]int, len(jobs))
		for i := range jobs {
			device.Check(ctx.Err())
			job, rows := &jobs[i], len(jobs[i].Weights)
			sizes[i] = model.Size(b.s.Graph.Steps[job.Step].Shape) / job.Rows
			keys, outs := b.s.Columns(job.Step)
			own := kernels.At[field.QM31](at, places[i])
			plus[i] = keys.Offset()
			device.Check(list.Add(keys.Integers, outs, rows, sizes[i], own, kernels.At[field.QM31](own, rows)))
		}
		out := device.NewArray[field.QM31](a, list.Sums)
		device.Check(kernels.LogUpColumnSums(a, out, &list, device.NewCopy(a, list.Jobs)))
		all := device.Fetch[field.QM31](a, out, list.Sums)
		for i := range jobs {
			results[i], all = all[:sizes[i]:sizes[i]], all[sizes[i]:]
			if plus[i] != 0 {
				w := total(jobs[i].Weights).MulM31(plus[i])
				for k := range results[i] {
					results[i][k] = results[i][k].Add(w)
				}
			}
			b.s.DropKeys(jobs[i].Step)
		}
		return results
	})
}

package cuda

import (
	"context"
	"encoding/binary"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/parallel"
)

// RowSums implements backend.Backend. All results come back at once.
func (b *Backend) RowSums(ctx context.Context, jobs []backend.RowSum) ([][]field.QM31, error) {
	return pass(ctx, func() [][]field.QM31 {
		a := newScope(b.dev)
		defer a.close()
		sizes, lists := make([]int, len(jobs)), make([]int, len(jobs))
		all := 0
		for i := range jobs {
			job := &jobs[i]
			sizes[i], lists[i] = job.Rows*len(job.Ends), all
			all += rowSumsLists(len(job.Order), len(job.Ends))
		}
		data := make([]field.QM31, all) // weights, ends and order of all jobs, to be uploaded at once
		parallel.For(len(jobs), 1, func(from, to int) {
			for i := from; i < to; i++ {
				job := &jobs[i]
				words := kernels.Bytes(data[lists[i]+copy(data[lists[i]:], job.Weights):])
				for k, v := range job.Ends {
					binary.NativeEndian.PutUint64(words[8*k:], uint64(v))
				}
				for k, v := range job.Order {
					binary.NativeEndian.PutUint32(words[8*len(job.Ends)+4*k:], uint32(v))
				}
			}
		})
		if len(jobs) == 0 {
			return nil
		}
		at := newCopy(a, data)
		return gathered(a, sizes, func(i int, out kernels.Ptr) {
			check(ctx.Err())
			job := &jobs[i]
			keys, outs := b.columns(job.Step)
			r := kernels.RowSums{Rows: job.Rows, Columns: len(job.Order), Parts: len(job.Ends), Weights: kernels.At[field.QM31](at, lists[i])}
			r.Ends = kernels.At[field.QM31](r.Weights, len(job.Weights))
			r.Order = kernels.At[uint64](r.Ends, len(job.Ends))
			check(kernels.LogUpRowSums(a, out, keys, outs, r, job.Beta))
		})
	})
}

// rowSumsLists is the memory, in elements of K, of the lists of a job with so many columns
// and parts: weights, ends of 64 bits, and an order of 32 bits.
func rowSumsLists(columns, parts int) int {
	return columns + (8*parts+4*columns+elementBytes-1)/elementBytes
}

// gathered returns results of the given sizes, which f writes to memory of a, one
// after the other.
func gathered(a *scope, sizes []int, f func(i int, out kernels.Ptr)) [][]field.QM31 {
	total := 0
	for _, n := range sizes {
		total += n
	}
	results := make([][]field.QM31, len(sizes))
	if total == 0 {
		return results
	}
	p := newArray[field.QM31](a, total)
	at := p
	for i, n := range sizes {
		f(i, at)
		at = kernels.At[field.QM31](at, n)
	}
	all := fetch[field.QM31](a, p, total)
	for i, n := range sizes {
		results[i], all = all[:n:n], all[n:]
	}
	return results
}

// ColumnSums implements backend.Backend. It is a step's last pass, as package join
// has it, so that its keys are given back.
func (b *Backend) ColumnSums(ctx context.Context, jobs []backend.ColumnSum) ([][]field.QM31, error) {
	return pass(ctx, func() [][]field.QM31 {
		a := newScope(b.dev)
		defer a.close()
		if len(jobs) == 0 {
			return nil
		}
		n := 0
		for i := range jobs {
			n += 2 * len(jobs[i].Weights)
		}
		weights := make([]field.QM31, 0, n) // of each job, and the same times β, to be uploaded at once
		for i := range jobs {
			weights = append(weights, jobs[i].Weights...)
			for _, w := range jobs[i].Weights {
				weights = append(weights, w.Mul(jobs[i].Beta))
			}
		}
		at := newCopy(a, weights)
		var list kernels.ColumnJobs
		results := make([][]field.QM31, len(jobs))
		sizes := make([]int, len(jobs))
		for i := range jobs {
			check(ctx.Err())
			job, rows := &jobs[i], len(jobs[i].Weights)
			sizes[i] = model.Size(b.g.Steps[job.Step].Shape) / job.Rows
			keys, outs := b.columns(job.Step)
			check(list.Add(keys, outs, rows, sizes[i], at, kernels.At[field.QM31](at, rows)))
			at = kernels.At[field.QM31](at, 2*rows)
		}
		out := newArray[field.QM31](a, list.Sums)
		check(kernels.LogUpColumnSums(a, out, &list, newCopy(a, list.Jobs)))
		all := fetch[field.QM31](a, out, list.Sums)
		for i := range jobs {
			results[i], all = all[:sizes[i]:sizes[i]], all[sizes[i]:]
			b.dropKeys(jobs[i].Step)
		}
		return results
	})
}

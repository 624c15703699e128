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
		plus := make([]field.M31, len(jobs)) // on the keys
		results := gathered(a, sizes, func(i int, out kernels.Ptr) {
			check(ctx.Err())
			job := &jobs[i]
			keys, outs := b.columns(job.Step)
			plus[i] = keys.offset()
			r := kernels.RowSums{Rows: job.Rows, Columns: len(job.Order), Parts: len(job.Ends), Weights: kernels.At[field.QM31](at, lists[i])}
			r.Ends = kernels.At[field.QM31](r.Weights, len(job.Weights))
			r.Order = kernels.At[uint64](r.Ends, len(job.Ends))
			check(kernels.LogUpRowSums(a, out, keys.Integers, outs, r, job.Beta))
		})
		for i := range jobs {
			if plus[i] != 0 {
				addToParts(results[i], &jobs[i], plus[i])
			}
		}
		return results
	})
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
		// Of each job the sums of keys, and those of outs if there are any.
		var sizes []int
		all := 0
		for i := range jobs {
			all += 2 * len(jobs[i].Weights)
		}
		weights := make([]field.QM31, 0, all) // of all, those of outs times β, to be uploaded at once
		for i := range jobs {
			n := model.Size(b.g.Steps[jobs[i].Step].Shape) / jobs[i].Rows
			sizes, weights = append(sizes, n), append(weights, jobs[i].Weights...)
			if b.g.Steps[jobs[i].Step].Out == model.None {
				n = 0
			}
			sizes = append(sizes, n)
			for _, w := range jobs[i].Weights {
				weights = append(weights, w.Mul(jobs[i].Beta))
			}
		}
		if len(jobs) == 0 {
			return nil
		}
		at := newCopy(a, weights)
		plus := make([]field.M31, len(jobs)) // on the keys
		halves := gathered(a, sizes, func(i int, out kernels.Ptr) {
			check(ctx.Err())
			job := &jobs[i/2]
			if sizes[i] > 0 {
				keys, outs := b.columns(job.Step)
				values := keys.Integers
				plus[i/2] = keys.offset()
				if i%2 == 1 {
					values = outs
				}
				check(kernels.RestrictInt(a, out, values, kernels.Binding{Outer: 1, N: len(job.Weights), Inner: sizes[i], Weights: at}))
			}
			at = kernels.At[field.QM31](at, len(job.Weights))
		})
		results := make([][]field.QM31, len(jobs))
		for i := range jobs {
			results[i] = halves[2*i]
			if plus[i] != 0 {
				w := total(jobs[i].Weights).MulM31(plus[i])
				for k := range results[i] {
					results[i][k] = results[i][k].Add(w)
				}
			}
			for k, v := range halves[2*i+1] {
				results[i][k] = results[i][k].Add(v)
			}
			b.dropKeys(jobs[i].Step)
		}
		return results
	})
}

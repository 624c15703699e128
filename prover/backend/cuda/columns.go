package cuda

import (
	"context"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/model"
)

// RowSums implements backend.Backend. All results come back at once.
func (b *Backend) RowSums(ctx context.Context, jobs []backend.RowSum) ([][]field.QM31, error) {
	return pass(ctx, func() [][]field.QM31 {
		a := newScope(b.dev)
		defer a.close()
		sizes := make([]int, len(jobs))
		for i := range jobs {
			sizes[i] = jobs[i].Rows * len(jobs[i].Ends)
		}
		return gathered(a, sizes, func(i int, out kernels.Ptr) {
			check(ctx.Err())
			b.rowSums(a, &jobs[i], out)
		})
	})
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

func (b *Backend) rowSums(a *scope, job *backend.RowSum, out kernels.Ptr) {
	keys, outs := b.columns(job.Step)
	order, ends := make([]uint32, len(job.Order)), make([]uint64, len(job.Ends))
	for i, v := range job.Order {
		order[i] = uint32(v)
	}
	for i, v := range job.Ends {
		ends[i] = uint64(v)
	}
	r := kernels.RowSums{Rows: job.Rows, Columns: len(order), Parts: len(ends),
		Order: newCopy(a, order), Ends: newCopy(a, ends), Weights: newCopy(a, job.Weights)}
	check(kernels.LogUpRowSums(a, out, keys, outs, r, job.Beta))
	for _, p := range []kernels.Ptr{r.Order, r.Ends, r.Weights} {
		a.Free(p)
	}
}

// ColumnSums implements backend.Backend. It is a step's last pass, as package join
// has it, so that its keys are given back.
func (b *Backend) ColumnSums(ctx context.Context, jobs []backend.ColumnSum) ([][]field.QM31, error) {
	return pass(ctx, func() [][]field.QM31 {
		a := newScope(b.dev)
		defer a.close()
		// Of each job the sums of keys, and those of outs if there are any.
		var sizes []int
		for i := range jobs {
			n := model.Size(b.g.Steps[jobs[i].Step].Shape) / jobs[i].Rows
			sizes = append(sizes, n)
			if b.g.Steps[jobs[i].Step].Out == model.None {
				n = 0
			}
			sizes = append(sizes, n)
		}
		halves := gathered(a, sizes, func(i int, out kernels.Ptr) {
			check(ctx.Err())
			if sizes[i] > 0 {
				b.columnSums(a, &jobs[i/2], i%2 == 1, out)
			}
		})
		results := make([][]field.QM31, len(jobs))
		for i := range jobs {
			results[i] = halves[2*i]
			for k, v := range halves[2*i+1] {
				results[i][k] = results[i][k].Add(v)
			}
			b.dropKeys(jobs[i].Step)
		}
		return results
	})
}

// columnSums sets out to the sums of a step's keys, or to β times those of its outs.
func (b *Backend) columnSums(a *scope, job *backend.ColumnSum, ofOuts bool, out kernels.Ptr) {
	values, outs := b.columns(job.Step)
	weights := job.Weights
	if ofOuts {
		values, weights = outs, make([]field.QM31, len(job.Weights))
		for i, w := range job.Weights {
			weights[i] = w.Mul(job.Beta)
		}
	}
	bind := kernels.Binding{Outer: 1, N: len(weights), Inner: model.Size(b.g.Steps[job.Step].Shape) / job.Rows, Weights: newCopy(a, weights)}
	check(kernels.RestrictInt(a, out, values, bind))
	a.Free(bind.Weights)
}

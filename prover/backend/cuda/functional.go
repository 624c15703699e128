package cuda

import (
	"cmp"
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/parallel"
	"github.com/prove-model/prove-model/prover/whir"
)

// weights are product tables on the device: of the eq tables of a functional's
// parts, or of the functional of evaluation at a point.
type weights struct {
	vars          []int
	parts, tables kernels.Ptr
}

// newWeights builds the tables of weights given by their factors, that of the
// lowest index bit first.
func newWeights(a *scope, factors [][]field.QM31, eq bool) *weights {
	w := &weights{vars: make([]int, len(factors))}
	parts := make([]kernels.WeightPart, len(factors))
	var flat []field.QM31
	elements := 0
	for i, f := range factors {
		high, low := kernels.WeightSizes(len(f))
		w.vars[i] = len(f)
		parts[i] = kernels.WeightPart{High: uint64(elements), Low: uint64(elements + high), Vars: uint64(len(f)), Factors: uint64(len(flat))}
		elements += high + low
		flat = append(flat, f...)
	}
	if len(flat) == 0 {
		flat = make([]field.QM31, 1) // there is no empty memory
	}
	w.parts, w.tables = newCopy(a, parts), newArray[field.QM31](a, elements)
	check(kernels.MakeWeights(a, w.tables, w.parts, newCopy(a, flat), len(parts), eq))
	return w
}

// weightsOf returns the tables of the functional's parts, once built. There is
// at least one part.
func (r *rows) weightsOf(q *whir.Functional) *weights {
	if r.weights == nil && len(q.Parts) > 0 {
		factors := make([][]field.QM31, len(q.Parts))
		for i, p := range q.Parts {
			factors[i] = slices.Clone(p.Low)
			slices.Reverse(factors[i])
		}
		r.weights = newWeights(r.a, factors, true)
	}
	return r.weights
}

// foldFunctional returns the functional on what long rows fold to, n rows (see
// whir.Passes).
func foldFunctional(a *scope, w *weights, coefs []field.QM31, q *whir.Functional, n int) kernels.Ptr {
	table := newArray[field.QM31](a, n<<q.RowVars)
	check(a.Clear(table, elementBytes*n<<q.RowVars))
	rows := make([][]field.QM31, len(q.Parts))
	parallel.For(len(rows), 1, func(from, to int) {
		for i := from; i < to; i++ {
			p := &q.Parts[i]
			rows[i] = make([]field.QM31, min(n, len(p.RowWeights)))
			for b, weight := range p.RowWeights {
				// Whole cycles of n rows begin where the part does.
				k := b % n
				rows[i][k] = rows[i][k].Add(weight.Mul(coefs[(p.FirstRow+b)/n]))
			}
		}
	})
	var jobs []kernels.AddJob
	for i, p := range q.Parts {
		for k, c := range rows[i] {
			l := (p.FirstRow + k) % n
			jobs = append(jobs, kernels.AddJob{Start: uint64(l<<q.RowVars + p.Column), Part: uint64(i), Stride: uint64(p.Stride), Coef: c})
		}
	}
	for _, wave := range waves(jobs, w) {
		addWeights(a, table, w, wave)
	}
	return table
}

// waves divides jobs into groups in which none overlap: those of one stride, and
// among them those of one remainder by it one after the other.
func waves(jobs []kernels.AddJob, w *weights) [][]kernels.AddJob {
	comb := func(j *kernels.AddJob) uint64 { return j.Start & (1<<j.Stride - 1) }
	slices.SortStableFunc(jobs, func(x, y kernels.AddJob) int {
		return cmp.Or(cmp.Compare(x.Stride, y.Stride), cmp.Compare(comb(&x), comb(&y)), cmp.Compare(x.Start, y.Start))
	})
	var all [][]kernels.AddJob
	var ends []uint64 // of the latest job in each wave of the stride
	first := 0        // wave of the stride
	for i, j := range jobs {
		if i > 0 && jobs[i-1].Stride != j.Stride {
			first, ends = len(all), nil
		} else if i > 0 && comb(&jobs[i-1]) != comb(&j) {
			clear(ends)
		}
		k := slices.IndexFunc(ends, func(end uint64) bool { return end <= j.Start })
		if k < 0 {
			k = len(ends)
			all, ends = append(all, nil), append(ends, 0)
		}
		all[first+k] = append(all[first+k], j)
		ends[k] = j.Start + 1<<(uint64(w.vars[j.Part])+j.Stride)
	}
	return all
}

// addWeights does jobs that do not overlap.
func addWeights(parent *scope, table kernels.Ptr, w *weights, jobs []kernels.AddJob) {
	a := newScope(parent)
	defer a.close()
	vars := make([]int, len(jobs))
	for i, j := range jobs {
		vars[i] = w.vars[j.Part]
	}
	first, l := kernels.WeightLaunch(vars)
	check(kernels.AddWeights(a, table, newCopy(a, first), l, newCopy(a, jobs), len(jobs), w.parts, w.tables))
}

package cuda

import (
	"cmp"
	"slices"
	"sync"

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

// share is what a part has in one of the rows that lie at the same place in all
// long rows.
type share struct {
	part, row int
	dots      []int // by long row: the number of the job with the sum of the row's values times the part's eq table, or −1
}

// grid is described at whir.Passes. A part is weights on rows times an eq table on
// columns. So the device computes sums of rows times eq tables, one for each long
// row, and the rest is a product of tables over long rows, summed over the parts.
func (r *rows) grid(vars int, q *whir.Functional) []field.QM31 {
	longs := 1 << vars
	n := len(r.at) / longs
	w := r.weightsOf(q)
	var shares []share
	var jobs []kernels.DotJob
	var jobVars []int
	for i, p := range q.Parts {
		for k := range min(n, len(p.RowWeights)) {
			s := share{i, (p.FirstRow + k) % n, make([]int, longs)}
			for h := range longs {
				s.dots[h] = -1
				if row := r.at[h*n+s.row]; row != 0 {
					s.dots[h] = len(jobs)
					jobs = append(jobs, kernels.DotJob{Values: row.Offset(p.Column, kernels.SizeM31), Part: uint64(i), Stride: uint64(p.Stride)})
					jobVars = append(jobVars, w.vars[i])
				}
			}
			shares = append(shares, s)
		}
	}
	values := make([]field.QM31, power3(vars))
	if len(jobs) == 0 {
		return values
	}
	dots := r.dots(w, jobs, jobVars)
	var mu sync.Mutex
	parallel.For(len(shares), 64, func(from, to int) {
		sum := make([]field.QM31, len(values))
		m, x := make([]field.QM31, len(values)), make([]field.QM31, len(values))
		for _, s := range shares[from:to] {
			p := &q.Parts[s.part]
			for h := range longs {
				m[h], x[h] = field.Zero, field.Zero
				if s.dots[h] >= 0 {
					m[h] = dots[s.dots[h]]
				}
				if b := h*n + s.row - p.FirstRow; b >= 0 && b < len(p.RowWeights) {
					x[h] = p.RowWeights[b]
				}
			}
			toGrid(m, vars)
			toGrid(x, vars)
			for i := range sum {
				sum[i] = sum[i].Add(m[i].Mul(x[i]))
			}
		}
		mu.Lock()
		defer mu.Unlock()
		for i, v := range sum {
			values[i] = values[i].Add(v)
		}
	})
	return values
}

// dots returns the sums of the jobs.
func (r *rows) dots(w *weights, jobs []kernels.DotJob, vars []int) []field.QM31 {
	a := newScope(r.a)
	defer a.close()
	first, l := kernels.WeightLaunch(vars)
	sums := newWords(a, kernels.SumWords*len(jobs))
	check(kernels.Dots(a, sums, newCopy(a, first), l, newCopy(a, jobs), len(jobs), w.parts, w.tables))
	words := fetch[uint64](a, sums, kernels.SumWords*len(jobs))
	values := make([]field.QM31, len(jobs))
	for i := range values {
		values[i] = kernels.FromSum(words[kernels.SumWords*i:])
	}
	return values
}

func power3(n int) int {
	p := 1
	for range n {
		p *= 3
	}
	return p
}

// toGrid turns the first 2^vars values of t, over {0,1}^vars, into 3^vars over
// {0,1,∞}^vars, in place: a value at ∞ is that at 1 less that at 0.
func toGrid(t []field.QM31, vars int) {
	// The last variables first: blocks of 3^j values for each setting of the others.
	size := 1
	for j := range vars {
		count := 1 << (vars - j - 1)
		// Backwards, since the results lie further up.
		for k := count - 1; k >= 0; k-- {
			src, dst := t[2*k*size:2*(k+1)*size], t[3*k*size:3*(k+1)*size]
			for i := size - 1; i >= 0; i-- {
				dst[2*size+i] = src[size+i].Sub(src[i])
			}
			copy(dst[size:2*size], src[size:])
			copy(dst[:size], src[:size])
		}
		size *= 3
	}
}

// foldFunctional returns the functional on what long rows fold to, n rows (see
// whir.Passes).
func foldFunctional(a *scope, w *weights, coefs []field.QM31, q *whir.Functional, n int) kernels.Ptr {
	table := newArray[field.QM31](a, n<<q.RowVars)
	check(a.Clear(table, elementBytes*n<<q.RowVars))
	var jobs []kernels.AddJob
	for i, p := range q.Parts {
		row := make([]field.QM31, min(n, len(p.RowWeights)))
		for b, weight := range p.RowWeights {
			// Whole cycles of n rows begin where the part does.
			k := b % n
			row[k] = row[k].Add(weight.Mul(coefs[(p.FirstRow+b)/n]))
		}
		for k, c := range row {
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

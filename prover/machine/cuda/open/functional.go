package open

import (
	"slices"
	"sync"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// weights are lists of weights on the device, each list a product over index bits: the eq tables of
// a functional's parts, or the weights of evaluation at a point. A list is kept as two smaller tables
// whose product it is (kernels.WeightPart).
type weights struct {
	vars          []int       // by list: log2 of its length
	of            []int       // by part of a functional: the number of its list; equal lists are kept once
	parts, tables kernels.Ptr // descriptions of the lists, and their tables
}

// newWeights builds lists of weights that are given by their factors, the factor of the
// lowest index bit first. eq says how a factor gives the weights of its bit (kernels.MakeWeights).
func newWeights(a *device.Scope, factors [][]field.QM31, eq bool) *weights {
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
		flat = make([]field.QM31, 1) // an allocation must not be empty
	}
	w.parts, w.tables = device.NewCopy(a, parts), device.NewArray[field.QM31](a, elements)
	device.Check(kernels.MakeWeights(a, w.tables, w.parts, device.NewCopy(a, flat), len(parts), eq))
	return w
}

// setFunctional makes the eq tables of the parts of q, unless the functional has been set before.
func (r *Rows) setFunctional(q *whir.Functional) {
	if r.q != nil {
		return
	}
	if r.q = q; len(q.Parts) > 0 {
		factors, of := distinct(q)
		r.weights = newWeights(r.Mem, factors, true)
		r.weights.of = of
	}
}

// factoredOf returns the eq tables of those parts that have more than LowVars variables (device.Context), each as a product of two: list
// of[i] is the factor over the lowest LowVars index bits of part i, and list of[i]+1 the one over the other bits. The result is kept.
func (r *Rows) factoredOf() *weights {
	if r.factored == nil {
		low := r.Stream.Context.LowVars
		factors, of := distinct(r.q)
		at, both := make([]int, len(factors)), [][]field.QM31(nil)
		for i, f := range factors {
			if at[i] = len(both); len(f) > low {
				both = append(both, f[:low], f[low:])
			}
		}
		for i, k := range of {
			of[i] = at[k]
		}
		r.factored = newWeights(r.Mem, both, true)
		r.factored.of = of
	}
	return r.factored
}

// distinct returns the different lists of factors of a functional's parts, lowest index bit first,
// and for each part the number of its list.
func distinct(q *whir.Functional) (factors [][]field.QM31, of []int) {
	seen := make(map[string]int, len(q.Parts)/4)
	of = make([]int, len(q.Parts))
	for i := range q.Parts {
		low := q.Parts[i].Low
		k, ok := seen[string(kernels.Bytes(low))]
		if !ok {
			k = len(factors)
			seen[string(kernels.Bytes(low))] = k
			factors = append(factors, slices.Clone(low))
			slices.Reverse(factors[k])
		}
		of[i] = k
	}
	return factors, of
}

// groupAhead starts a goroutine that makes the groups of all parts, for long rows of n rows, for FoldFunctional, while the device is busy
// with other work. There must be at least one part.
func (r *Rows) groupAhead(n int) {
	r.groupsFor, r.groups = n, sync.OnceValue(func() []partGroup { return r.partGroups(UpTo(len(r.q.Parts)), n) })
	go r.groups()
}

// UpTo returns the list 0, 1, …, n−1.
func UpTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// FoldFunctional sets table to the functional on what the long rows fold to, at some places, which are increasing and not empty. There
// are len(coefs) long rows, and coefs are the weights with which they are folded (see whir.Passes).
func (r *Rows) FoldFunctional(table kernels.Ptr, coefs []field.QM31, places []int) {
	q, n := r.q, len(r.At)/len(coefs)
	if len(q.Parts) == 0 {
		device.Check(r.Mem.Clear(table, device.ElementBytes*len(places)<<q.RowVars))
		return
	}
	at := make([]int, n) // by place: its number in places, from 1 on; 0 if it is not among them
	for k, l := range places {
		at[l] = k + 1
	}
	if r.groupsFor != n {
		r.groupAhead(n)
	}
	groups := r.groups()
	// By group and place: the sum of the weights of the group's parts there over all long rows, each times its coefficient.
	weights := make([][]field.QM31, len(groups))
	parallel.For(len(groups), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			g := &groups[i]
			weights[i] = make([]field.QM31, g.columns())
			for _, part := range g.parts {
				p := &q.Parts[part]
				for b, weight := range p.RowWeights {
					row := p.FirstRow + b
					if l := row % n; at[l] > 0 {
						sum := &weights[i][g.column(l)]
						*sum = sum.Add(weight.Mul(coefs[row/n]))
					}
				}
			}
		}
	})
	w := r.weights
	list := kernels.ListParts(len(places), q.RowVars, w.vars, func(yield func(int, kernels.RowPart) bool) {
		for i := range groups {
			for _, x := range groups[i].runs {
				for l := x.from; l < x.to; l++ {
					if k := at[l]; k > 0 && !yield(k-1, w.rowPart(q, groups[i].parts[0], weights[i][x.column+l-x.from])) {
						return
					}
				}
			}
		}
	})
	a := device.NewScope(r.Mem)
	defer a.Close()
	device.Check(kernels.FillRows(a, table, len(places), q.RowVars, w.rowParts(a, list)))
}

// rowParts uploads a list of parts.
func (w *weights) rowParts(a *device.Scope, l *kernels.PartList) kernels.RowParts {
	return kernels.RowParts{
		First: device.NewCopy(a, l.First), All: device.NewCopy(a, l.All), Parts: w.parts, Tables: w.tables, Long: l.Long, Others: l.Others,
	}
}

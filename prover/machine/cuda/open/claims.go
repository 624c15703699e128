package open

import (
	"cmp"
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// Claims are the parts of a functional as rowSums takes them: most of those that are on
// one row alone are taken together, as one weight on the whole row. A model of many layers
// has thousands of such claims on tensors smaller than a row, every n-th column of it for one
// tree beside another with longer rows; one product of all columns on the tensor cores costs
// less than some products of a few columns without them.
type Claims struct {
	each   []int       // parts taken by themselves
	joined []joinedRow // by place in a long row, as soon as that is known (byPlace)
}

// joinedRow is a row with its parts, at least one.
type joinedRow struct {
	row   int
	parts []int
}

// A Claim is where a part is.
type claim struct {
	row int // the first
	span
}

// ClaimsOf returns the claims of a functional.
func ClaimsOf(q *whir.Functional) []claim {
	all := make([]claim, len(q.Parts))
	for i := range q.Parts {
		all[i] = claim{q.Parts[i].FirstRow, spanOf(&q.Parts[i])}
	}
	return all
}

// JoinRows takes claims together where that costs less, in rows of 2^rowVars.
func JoinRows(all []claim, rowVars int) *Claims {
	c := &Claims{}
	var single []int
	for i, x := range all {
		if x.rows == 1 {
			single = append(single, i)
		} else {
			c.each = append(c.each, i)
		}
	}
	single = byRow(all, single)
	for len(single) > 0 {
		n, cost := 0, 0.0
		for n < len(single) && all[single[n]].row == all[single[0]].row {
			cost += all[single[n]].dotCost(1)
			n++
		}
		if cost > wholeRow(rowVars).dotCost(1) {
			c.joined = append(c.joined, joinedRow{all[single[0]].row, single[:n]})
		} else {
			c.each = append(c.each, single[:n]...)
		}
		single = single[n:]
	}
	slices.Sort(c.each)
	return c
}

// byRow sorts claims by their rows, those of one row in their order.
func byRow(all []claim, list []int) []int {
	rows := 0
	for _, i := range list {
		rows = max(rows, all[i].row+1)
	}
	next := make([]int, rows+1) // of a row, where its next claim goes
	for _, i := range list {
		next[all[i].row+1]++
	}
	for row := range rows {
		next[row+1] += next[row]
	}
	sorted := make([]int, len(list))
	for _, i := range list {
		at := &next[all[i].row]
		sorted[*at] = i
		*at++
	}
	return sorted
}

// wholeRow is the span of a joined row.
func wholeRow(rowVars int) span { return span{rows: 1, vars: rowVars, dense: true} }

// Spans returns those of which products are taken.
func (c *Claims) Spans(all []claim, rowVars int) []span {
	var s []span
	for _, i := range c.each {
		s = append(s, all[i].span)
	}
	for range c.joined {
		s = append(s, wholeRow(rowVars))
	}
	return s
}

// ByPlace sorts the joined rows by their place in long rows of n.
func (c *Claims) ByPlace(n int) {
	slices.SortFunc(c.joined, func(x, y joinedRow) int {
		if d := x.row%n - y.row%n; d != 0 {
			return d
		}
		return x.row - y.row
	})
}

// A partGroup are parts with the same eq table on the same columns of their rows: those of equal
// blocks of tensors whose claims are at one point. Their products with a row are the same. At
// each place of long rows a group either has some of its parts' rows or not.
type partGroup struct {
	parts []int
	runs  []placeRun
}

// placeRun are places from to to−1 of a group, that number column and on of its places.
type placeRun struct{ from, to, column int }

// columns returns the number of places of a group.
func (g *partGroup) columns() int {
	last := g.runs[len(g.runs)-1]
	return last.column + last.to - last.from
}

// column returns the number of a place that a group has.
func (g *partGroup) column(place int) int {
	i, found := slices.BinarySearchFunc(g.runs, place, func(r placeRun, place int) int { return cmp.Compare(r.from, place) })
	if !found {
		i--
	}
	return g.runs[i].column + place - g.runs[i].from
}

// partGroups divides parts of a functional into groups, for long rows of n rows, in the order of
// their first parts.
func (r *Rows) partGroups(q *whir.Functional, parts []int, n int) []partGroup {
	type key struct {
		weight         int
		column, stride int
	}
	w := r.weightsOf(q)
	where := make(map[key]int, len(parts)/4)
	of := make([]int, len(parts)) // groups
	var sizes []int
	for k, i := range parts {
		x := key{w.of[i], q.Parts[i].Column, q.Parts[i].Stride}
		g, ok := where[x]
		if !ok {
			g = len(sizes)
			where[x], sizes = g, append(sizes, 0)
		}
		of[k] = g
		sizes[g]++
	}
	all, list := make([]partGroup, len(sizes)), make([]int, len(parts))
	for g, n := range sizes {
		all[g].parts, list = list[:0:n], list[n:]
	}
	for k, i := range parts {
		g := &all[of[k]]
		g.parts = append(g.parts, i)
	}
	parallel.For(len(all), 1<<6, func(from, to int) {
		for i := from; i < to; i++ {
			all[i].runs = placeRuns(q, all[i].parts, n)
		}
	})
	return all
}

// placeRuns returns the places of parts, at least one, in long rows of n rows.
func placeRuns(q *whir.Functional, parts []int, n int) []placeRun {
	var all []placeRun
	for _, i := range parts {
		p := &q.Parts[i]
		from := p.FirstRow % n
		to := from + min(n, len(p.RowWeights))
		all = append(all, placeRun{from: from, to: min(n, to)})
		if to > n { // the next long row begins
			all = append(all, placeRun{to: to - n})
		}
	}
	slices.SortFunc(all, func(x, y placeRun) int { return cmp.Compare(x.from, y.from) })
	runs := all[:1]
	for _, x := range all[1:] {
		if last := &runs[len(runs)-1]; x.from <= last.to {
			last.to = max(last.to, x.to)
		} else {
			runs = append(runs, x)
		}
	}
	for i := range runs[1:] {
		runs[i+1].column = runs[i].column + runs[i].to - runs[i].from
	}
	return runs
}

// rowParts returns the parts of joined rows on the device, with the coefficients that their
// rows have.
func (r *Rows) rowParts(a *device.Scope, q *whir.Functional, joined []joinedRow) kernels.RowParts {
	w := r.weightsOf(q)
	return w.rowParts(a, kernels.ListParts(len(joined), r.RowVars, w.vars, func(yield func(int, kernels.RowPart) bool) {
		for k, j := range joined {
			for _, i := range j.parts {
				if !yield(k, w.rowPart(q, i, q.Parts[i].RowWeights[0])) {
					return
				}
			}
		}
	}))
}

// rowPart is a part's share of one row.
func (w *weights) rowPart(q *whir.Functional, part int, coef field.QM31) kernels.RowPart {
	p := &q.Parts[part]
	return kernels.RowPart{Part: uint64(w.of[part]), Column: uint32(p.Column), Stride: uint32(p.Stride), Coef: coef}
}

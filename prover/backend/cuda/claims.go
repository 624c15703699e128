package cuda

import (
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/whir"
)

// claims are the parts of a functional as rowSums takes them: most of those that are on
// one row alone are taken together, as one weight on the whole row. A model of many layers
// has thousands of such claims on tensors smaller than a row, every n-th column of it for one
// tree beside another with longer rows; one product of all columns on the tensor cores costs
// less than some products of a few columns without them.
type claims struct {
	each   []int       // parts taken by themselves
	joined []joinedRow // by place in a long row, as soon as that is known (byPlace)
}

// joinedRow is a row with its parts, at least one.
type joinedRow struct {
	row   int
	parts []int
}

// A claim is where a part is.
type claim struct {
	row int // the first
	span
}

// claimsOf returns the claims of a functional.
func claimsOf(q *whir.Functional) []claim {
	all := make([]claim, len(q.Parts))
	for i := range q.Parts {
		all[i] = claim{q.Parts[i].FirstRow, spanOf(&q.Parts[i])}
	}
	return all
}

// joinRows takes claims together where that costs less, in rows of 2^rowVars.
func joinRows(all []claim, rowVars int) *claims {
	c := &claims{}
	var single []int
	for i, x := range all {
		if x.rows == 1 {
			single = append(single, i)
		} else {
			c.each = append(c.each, i)
		}
	}
	slices.SortStableFunc(single, func(x, y int) int { return all[x].row - all[y].row })
	for len(single) > 0 {
		n, cost := 0, 0.0
		for n < len(single) && all[single[n]].row == all[single[0]].row {
			cost += all[single[n]].dotCost()
			n++
		}
		if cost > wholeRow(rowVars).dotCost() {
			c.joined = append(c.joined, joinedRow{all[single[0]].row, single[:n]})
		} else {
			c.each = append(c.each, single[:n]...)
		}
		single = single[n:]
	}
	slices.Sort(c.each)
	return c
}

// wholeRow is the span of a joined row.
func wholeRow(rowVars int) span { return span{rows: 1, vars: rowVars, dense: true} }

// spans returns those of which products are taken.
func (c *claims) spans(all []claim, rowVars int) []span {
	var s []span
	for _, i := range c.each {
		s = append(s, all[i].span)
	}
	for range c.joined {
		s = append(s, wholeRow(rowVars))
	}
	return s
}

// byPlace sorts the joined rows by their place in long rows of n.
func (c *claims) byPlace(n int) {
	slices.SortFunc(c.joined, func(x, y joinedRow) int {
		if d := x.row%n - y.row%n; d != 0 {
			return d
		}
		return x.row - y.row
	})
}

// rowParts returns the parts of joined rows on the device, with the coefficients that their
// rows have.
func (r *rows) rowParts(a *scope, q *whir.Functional, joined []joinedRow) kernels.RowParts {
	first := make([]uint64, 1, len(joined)+1)
	var all []kernels.RowPart
	for _, j := range joined {
		for _, i := range j.parts {
			p := &q.Parts[i]
			all = append(all, kernels.RowPart{Part: uint64(i), Column: uint32(p.Column), Stride: uint32(p.Stride), Coef: p.RowWeights[0]})
		}
		first = append(first, uint64(len(all)))
	}
	w := r.weightsOf(q)
	return kernels.RowParts{First: newCopy(a, first), All: newCopy(a, all), Parts: w.parts, Tables: w.tables}
}

package open

import (
	"cmp"
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// Claims say which products of rows with weights are made for the parts of a functional. Most parts
// that are on a single row are joined: the sum of their weights is one weight on the whole row. A model
// of many layers has thousands of such claims, on tensors smaller than a row. If one tree's rows are
// shorter than the table's, such a claim is on every n-th column of a table row. One product over
// all columns on the tensor cores costs less than several over a few columns without them.
type Claims struct {
	each   []int   // parts of which products are made one by one
	joined [][]int // lists of parts that are joined, each of one row, and not empty
	spans  []span  // by product: first those of each, then those of joined
}

// joinRows divides the parts of a functional on so many rows into single and joined ones, by estimated cost.
func joinRows(q *whir.Functional, rows int) *Claims {
	c := &Claims{}
	single := make([][]int, rows) // parts of one row, by row
	for i := range q.Parts {
		if p := &q.Parts[i]; len(p.RowWeights) == 1 {
			single[p.FirstRow] = append(single[p.FirstRow], i)
		} else {
			c.each = append(c.each, i)
		}
	}
	whole := span{rows: 1, vars: q.RowVars, dense: true}
	for _, parts := range single {
		cost := 0.0
		for _, i := range parts {
			cost += spanOf(&q.Parts[i]).dotCost(1)
		}
		if cost > whole.dotCost(1) {
			c.joined = append(c.joined, parts)
		} else {
			c.each = append(c.each, parts...)
		}
	}
	slices.Sort(c.each)
	for _, i := range c.each {
		c.spans = append(c.spans, spanOf(&q.Parts[i]))
	}
	c.spans = append(c.spans, slices.Repeat([]span{whole}, len(c.joined))...)
	return c
}

// A partGroup is the parts that have the same eq table on the same columns of their rows, such as
// those of equal blocks of tensors whose claims are at one point. Their products with a given row are
// the same, so they are made once. runs are the places of long rows at which some part of the group
// has a row. The parts of a joined row are a group of their own.
type partGroup struct {
	parts  []int
	runs   []placeRun // by place
	joined bool
}

// placeRun is the places from … to−1 of a group. Its places are numbered through all runs; column is the number of place `from`.
type placeRun struct{ from, to, column int }

// columns returns the number of places of a group.
func (g *partGroup) columns() int {
	last := g.runs[len(g.runs)-1]
	return last.column + last.to - last.from - g.runs[0].column
}

// column returns the number of a place, which the group must have.
func (g *partGroup) column(place int) int {
	i, found := slices.BinarySearchFunc(g.runs, place, func(r placeRun, place int) int { return cmp.Compare(r.from, place) })
	if !found {
		i--
	}
	return g.runs[i].column + place - g.runs[i].from
}

// partGroups divides parts of the functional into groups, for long rows of n rows each. Groups are in
// the order of their first parts.
func (r *Rows) partGroups(parts []int, n int) []partGroup {
	type key struct {
		weight         int
		column, stride int
	}
	q, w := r.q, r.weights
	where := make(map[key]int, len(parts)/4)
	var all []partGroup
	for _, i := range parts {
		x := key{w.of[i], q.Parts[i].Column, q.Parts[i].Stride}
		g, ok := where[x]
		if !ok {
			g = len(all)
			where[x], all = g, append(all, partGroup{})
		}
		all[g].parts = append(all[g].parts, i)
	}
	parallel.For(len(all), 1<<6, func(from, to int) {
		for i := from; i < to; i++ {
			all[i].runs = placeRuns(q, all[i].parts, n)
		}
	})
	return all
}

// placeRuns returns the places of all rows of some parts, at least one, in long rows of n rows: the union as sorted runs.
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

// rowPart describes for a kernel the weights that a part has on one row: its eq table times coef.
func (w *weights) rowPart(q *whir.Functional, part int, coef field.QM31) kernels.RowPart {
	p := &q.Parts[part]
	return kernels.RowPart{Part: uint64(w.of[part]), Column: uint32(p.Column), Stride: uint32(p.Stride), Coef: coef}
}

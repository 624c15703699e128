package whir

import (
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/parallel"
	"github.com/prove-model/prove-model/prover/poly"
)

// functional is Q cut into rows: a sum of parts, each the product of weights on
// a range of rows and an eq table on a block within every one of them.
type functional struct {
	rowVars int
	parts   []part
}

// part is a [Term] as rows see it: on row firstRow + b it is
// rowWeights[b]·eq(low, ·) on the 2^len(low) columns from column on.
type part struct {
	firstRow   int
	rowWeights []field.QM31
	column     int
	low        []field.QM31
}

func newFunctional(terms []Term, rowVars int) *functional {
	q := &functional{rowVars, make([]part, len(terms))}
	for i, t := range terms {
		inRow := min(len(t.Point), rowVars)
		head := t.Point[:len(t.Point)-inRow]
		w := make([]field.QM31, 1<<len(head))
		field.EqTableInto(w, head, t.Coef)
		q.parts[i] = part{
			firstRow:   int(t.Offset >> rowVars),
			rowWeights: w,
			column:     int(t.Offset & (1<<rowVars - 1)),
			low:        t.Point[len(t.Point)-inRow:],
		}
	}
	return q
}

// folded returns the table of Σ_b weights[b]·Q(b, ·), the functional on the row
// that the rows fold to with these weights.
func (q *functional) folded(weights []field.QM31) []field.QM31 {
	table := make([]field.QM31, 1<<q.rowVars)
	for _, p := range q.parts {
		coef := field.Dot(p.rowWeights, weights[p.firstRow:p.firstRow+len(p.rowWeights)])
		addEq(table[p.column:p.column+1<<len(p.low)], p.low, coef)
	}
	return table
}

// eqLowVars is how many variables an eq table is added with at once.
const eqLowVars = 9

// addEq sets dst[i] += coef·eq(r, i) for 2^len(r) entries.
func addEq(dst []field.QM31, r []field.QM31, coef field.QM31) {
	head := r[:len(r)-min(len(r), eqLowVars)]
	low := poly.EqTable(r[len(head):])
	high := make([]field.QM31, 1<<len(head))
	field.EqTableInto(high, head, coef)
	parallel.For(len(high), 2, func(from, to int) {
		for h := from; h < to; h++ {
			field.MulAccQM31Vec(dst[h*len(low):(h+1)*len(low)], low, high[h])
		}
	})
}

// blockFunctional gives the functional's values on aligned blocks of columns,
// all rows at once.
type blockFunctional struct {
	q     *functional
	width int
	parts []blockPart
}

// blockPart is a part's eq table in the form high ⊗ low. It covers whole blocks,
// with a weight in high for each, or lies within one.
type blockPart struct{ high, low []field.QM31 }

func newBlockFunctional(q *functional, width int) *blockFunctional {
	b := &blockFunctional{q, width, make([]blockPart, len(q.parts))}
	parallel.For(len(q.parts), 1, func(from, to int) {
		for i := from; i < to; i++ {
			low := q.parts[i].low
			cut := 0
			for 1<<(len(low)-cut) > width {
				cut++
			}
			b.parts[i] = blockPart{poly.EqTable(low[:cut]), poly.EqTable(low[cut:])}
		}
	})
	return b
}

// fill sets the first n rows of dst to block number k of the functional's rows.
func (f *blockFunctional) fill(dst *sparseRows[field.QM31], n, k int) {
	clear(dst.live[:n])
	for i, p := range f.q.parts {
		t := &f.parts[i]
		block, within := p.column/f.width, p.column%f.width
		if k < block || k >= block+len(t.high) {
			continue
		}
		for b, w := range p.rowWeights {
			row := dst.row(p.firstRow + b)
			if !dst.live[p.firstRow+b] {
				dst.live[p.firstRow+b] = true
				clear(row)
			}
			field.MulAccQM31Vec(row[within:within+len(t.low)], t.low, w.Mul(t.high[k-block]))
		}
	}
}

package whir

import (
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/parallel"
	"github.com/prove-model/prove-model/prover/poly"
)

// Functional is Q cut into rows of 2^RowVars values: a sum of parts, each the
// product of weights on a range of rows and an eq table on a block within every
// one of them.
type Functional struct {
	RowVars int
	Parts   []Part
}

// Part is a [Term] as rows see it: on row FirstRow + b it is
// RowWeights[b]·eq(Low, ·) on the 2^len(Low) columns from Column on. The number
// of rows is a power of two that divides FirstRow; if it is not 1, a part covers
// whole rows.
type Part struct {
	FirstRow   int
	RowWeights []field.QM31
	Column     int
	Low        []field.QM31
}

func newFunctional(terms []Term, rowVars int) *Functional {
	q := &Functional{rowVars, make([]Part, len(terms))}
	for i, t := range terms {
		inRow := min(len(t.Point), rowVars)
		head := t.Point[:len(t.Point)-inRow]
		w := make([]field.QM31, 1<<len(head))
		field.EqTableInto(w, head, t.Coef)
		q.Parts[i] = Part{
			FirstRow:   int(t.Offset >> rowVars),
			RowWeights: w,
			Column:     int(t.Offset & (1<<rowVars - 1)),
			Low:        t.Point[len(t.Point)-inRow:],
		}
	}
	return q
}

// folded returns the functional on what long rows fold to with these weights: a
// table of rows that goes with [stackRows.fold], row l of which is
// Σ_h weights[h]·(row h·n + l of the functional), n = rows/len(weights).
func (q *Functional) folded(weights []field.QM31, rows int) []field.QM31 {
	n := rows / len(weights)
	table := make([]field.QM31, n<<q.RowVars)
	coefs := make([]field.QM31, n)
	for _, p := range q.Parts {
		clear(coefs)
		for b, w := range p.RowWeights {
			b += p.FirstRow
			coefs[b%n] = coefs[b%n].Add(w.Mul(weights[b/n]))
		}
		// A part covers a range of rows, so it begins anew in row firstRow mod n.
		for b := range min(n, len(p.RowWeights)) {
			l := (p.FirstRow + b) % n
			row := table[l<<q.RowVars : (l+1)<<q.RowVars]
			addEq(row[p.Column:p.Column+1<<len(p.Low)], p.Low, coefs[l])
		}
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
	q     *Functional
	width int
	parts []blockPart
}

// blockPart is a part's eq table in the form high ⊗ low. It covers whole blocks,
// with a weight in high for each, or lies within one.
type blockPart struct{ high, low []field.QM31 }

func newBlockFunctional(q *Functional, width int) *blockFunctional {
	b := &blockFunctional{q, width, make([]blockPart, len(q.Parts))}
	parallel.For(len(q.Parts), 1, func(from, to int) {
		for i := from; i < to; i++ {
			low := q.Parts[i].Low
			cut := 0
			for 1<<(len(low)-cut) > width {
				cut++
			}
			b.parts[i] = blockPart{poly.EqTable(low[:cut]), poly.EqTable(low[cut:])}
		}
	})
	return b
}

// fill sets the rows of dst in use to block number k of every step-th row of the
// functional from number first on, first < step.
func (f *blockFunctional) fill(dst *sparseRows[field.QM31], first, step, k int) {
	clear(dst.live)
	for i, p := range f.q.Parts {
		t := &f.parts[i]
		block, within := p.Column/f.width, p.Column%f.width
		if k < block || k >= block+len(t.high) {
			continue
		}
		// The part's rows among those wanted.
		skip := (first - p.FirstRow%step + step) % step
		for b := skip; b < len(p.RowWeights); b += step {
			at := (p.FirstRow + b) / step
			row := dst.row(at)
			if !dst.live[at] {
				dst.live[at] = true
				clear(row)
			}
			field.MulAccQM31Vec(row[within:within+len(t.low)], t.low, p.RowWeights[b].Mul(t.high[k-block]))
		}
	}
}

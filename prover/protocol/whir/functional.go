package whir

import (
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/field"
)

// Functional is Q cut into table rows of 2^RowVars values: a sum of parts, each the
// product of weights on a range of rows and an eq table on some columns of every
// one of them.
type Functional struct {
	RowVars int
	Parts   []Part
}

// Part is a [Term] in the coordinates of the table. In row FirstRow + b and column
// Column + i·2^Stride it is RowWeights[b] times entry i of the eq table of Low, and
// zero elsewhere. All its columns lie in one range of [Part.Span] columns that begins at a
// multiple of Span. The number of rows is a power of two; if it is not 1, the part covers
// whole rows.
type Part struct {
	FirstRow   int
	RowWeights []field.QM31
	Column     int
	Stride     int
	Low        []field.QM31
}

// Span returns the number of columns that a part is spread over, those between its own
// included.
func (p *Part) Span() int { return 1 << (len(p.Low) + p.Stride) }

// functional returns the functional of the statement: a part for each term.
func (s *statement) functional() *Functional {
	q := &Functional{s.params.RowVars(), make([]Part, s.terms.Len())}
	parallel.For(len(q.Parts), partGrain, func(from, to int) {
		rows := 0
		s.terms.Range(from, to, func(t *Term) {
			_, longs, _ := s.place(t)
			rows += 1 << longs
		})
		weights := make([]field.QM31, rows) // the RowWeights of all these parts; most have one
		i := from
		s.terms.Range(from, to, func(t *Term) {
			q.Parts[i], weights = s.part(t, weights)
			i++
		})
	})
	return q
}

// partGrain is the number of terms, as parts, worth a goroutine.
const partGrain = 1 << 7

// part returns a term in the coordinates of the table (layout.go). Of the term's
// coordinates, the first `longs` number table rows. Where the term covers several slots of a
// table row, the next ones number these slots. In the index of a table row the bits of the
// slot come behind those of the value, in reverse order, and so they do in Part.Low.
// RowWeights is the beginning of the given weights, and rest is what follows it.
func (s *statement) part(t *Term, weights []field.QM31) (p Part, rest []field.QM31) {
	row, longs, offset := s.place(t)
	rowVars, shift := s.layouts[t.Tree].RowVars, s.shift(t.Tree)
	low := t.Point[longs:]
	parts := max(0, len(low)-rowVars)
	own := low // the term's own slice if the order stays: terms at one point then share it
	if parts > 0 {
		own = slices.Clone(low[parts:])
		for i := range parts {
			own = append(own, low[parts-1-i])
		}
	}
	p = Part{
		FirstRow:   int(row),
		RowWeights: weights[: 1<<longs : 1<<longs],
		Column:     column(offset>>rowVars, offset&(1<<rowVars-1), shift),
		Stride:     shift - parts,
		Low:        own,
	}
	field.EqTableInto(p.RowWeights, t.Point[:longs], t.Coef)
	return p, weights[1<<longs:]
}

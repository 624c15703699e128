package open

import (
	"slices"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// The passes treat a very long row of an opening as several shorter rows, one after the other. Then the weights of claims on a row,
// pieces of rows and places of a table take less memory and time. Two things differ: more of a table's variables number rows, and a
// value of a codeword is a weighted sum of values of the row's parts (Rows.Columns).

// Shorten cuts each row of 2^(m+by) values into 2^by rows of 2^m, where m is `most` (device.Context.ShortRow), and returns the opening
// of these rows. If rows are not longer, if a tree has rows of another length than the table's, or if one hides, it returns the opening
// as it is, and by = 0. The blow-up grows as rows become shorter, so trees keep the number of their leaves.
func Shorten(o backend.Opening, most int) (short backend.Opening, by int) {
	levels := o.Params.Levels
	by = levels[0].RowVars - most
	if by <= 0 {
		return o, 0
	}
	for i := range o.Commitments {
		if c := &o.Commitments[i]; c.RowVars != levels[0].RowVars || c.Auxiliary || c.Salted() {
			return o, 0
		}
	}
	params := *o.Params
	params.Levels = slices.Clone(levels)
	params.Levels[0].RowVars -= by
	params.Levels[0].FoldVars += by
	params.Levels[0].LogBlowup += by
	short = backend.Opening{Params: &params}
	for i, c := range o.Commitments {
		c.RowVars, c.LogBlowup = c.RowVars-by, c.LogBlowup+by
		c.Groups, c.Parts = slices.Clone(c.Groups), slices.Clone(c.Parts)
		for k := range c.Groups {
			c.Groups[k].First <<= by
			c.Groups[k].Rows <<= by
		}
		for k := range c.Parts {
			c.Parts[k].First <<= by
		}
		short.Commitments, short.RowOffsets = append(short.Commitments, c), append(short.RowOffsets, o.RowOffsets[i]<<by)
	}
	return short, by
}

// ShortenFunctional returns the same functional on rows that have been cut into 2^by parts each (Shorten).
func ShortenFunctional(q *whir.Functional, by int) *whir.Functional {
	if by == 0 {
		return q
	}
	s := &whir.Functional{RowVars: q.RowVars - by, Parts: slices.Clone(q.Parts)}
	for i := range s.Parts {
		p := &s.Parts[i]
		p.FirstRow = p.FirstRow<<by + p.Column>>s.RowVars
		p.Column &= 1<<s.RowVars - 1
		high := len(p.Low) - s.RowVars // coordinates of the column that number parts of a row: their eq weights become row weights
		if high <= 0 {
			continue
		}
		eq := poly.EqTable(p.Low[:high])
		weights := make([]field.QM31, 0, len(p.RowWeights)<<high)
		for _, w := range p.RowWeights {
			for _, e := range eq {
				weights = append(weights, w.Mul(e))
			}
		}
		p.RowWeights, p.Low = weights, p.Low[high:]
	}
	return s
}

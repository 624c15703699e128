package open

import (
	"slices"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// A row of an opening that is too long for the passes is treated as several shorter rows, one after the other. Then the weights of
// claims on a row, pieces of rows and places of a table take less memory and time. Only two things notice: more of a table's
// variables number rows, and a column of a codeword is the sum of the columns of a row's parts.

// Shorten returns an opening whose rows of 2^(m+by) values are cut into 2^by of 2^m, m at most `most` (device.Context.ShortRow). All
// trees must have rows of the table's length; else it returns the opening as it is, and 0. Trees keep the number of their leaves.
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

// ShortenFunctional returns the functional on rows that are cut into 2^by.
func ShortenFunctional(q *whir.Functional, by int) *whir.Functional {
	if by == 0 {
		return q
	}
	s := &whir.Functional{RowVars: q.RowVars - by, Parts: slices.Clone(q.Parts)}
	for i := range s.Parts {
		p := &s.Parts[i]
		p.FirstRow = p.FirstRow<<by + p.Column>>s.RowVars
		p.Column &= 1<<s.RowVars - 1
		high := len(p.Low) - s.RowVars // coordinates that number rows now
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

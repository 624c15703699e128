package whir

import (
	"github.com/prove-model/prove-model/prover/bytedot"
	"github.com/prove-model/prove-model/prover/code"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/parallel"
)

// columns is described at Passes.
func (s *stackRows) columns(tree int, positions []uint64) [][]field.M31 {
	p := &s.trees[tree]
	slots := p.rowSlots()
	leaves := make([][]field.M31, len(positions))
	for k := range leaves {
		leaves[k] = make([]field.M31, len(slots))
	}
	parallel.For(len(slots), 1, func(from, to int) {
		row := make([]int32, 1<<s.rowVars)
		coeffs := make([]field.M31, 1<<p.RowVars)
		scratch := make([]field.M31, 1<<p.RowVars)
		values := make([]field.M31, len(positions))
		for i := from; i < to; i++ {
			bytedot.Join(row, s.rows[p.firstRow+slots[i]>>p.shift], 0)
			own := row
			if p.shift > 0 {
				// In place: a value never moves up.
				own = row[:1<<p.RowVars]
				first := column(slots[i], 0, p.shift)
				for c := range own {
					own[c] = row[c<<p.shift+first]
				}
			}
			field.FromInt32Vec(coeffs, own)
			code.EncodeAt(values, coeffs, p.LogDomain(), positions, scratch)
			for k, v := range values {
				leaves[k][i] = v
			}
		}
	})
	return leaves
}

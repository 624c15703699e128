package whir

import (
	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/code"
	"github.com/prove-model/prove-model/prover/math/field"
)

// columns returns the columns of a tree's codewords at the positions (Passes.Columns). It
// encodes every row again, at these positions alone.
func (s *stackRows) columns(tree int, positions []uint64) [][]field.M31 {
	p := &s.trees[tree]
	rows, tails := p.Rows(), p.tails()
	leaves := make([][]field.M31, len(positions))
	for k := range leaves {
		leaves[k] = make([]field.M31, rows)
	}
	parallel.For(rows, 1, func(from, to int) {
		row := make([]int32, 1<<p.RowVars)
		coeffs := make([]field.M31, 1<<p.RowVars)
		scratch := make([]field.M31, 1<<p.RowVars)
		values := make([]field.M31, len(positions))
		for i := from; i < to; i++ {
			p.src.FillRow(i, 0, row)
			field.FromInt32Vec(coeffs, row)
			tail := make([]field.M31, tails[i])
			if len(tail) > 0 {
				p.src.(HidingSource).FillTail(i, tail)
			}
			code.EncodeAt(values, coeffs, tail, p.LogDomain(), positions, scratch)
			for k, v := range values {
				leaves[k][i] = v
			}
		}
	})
	return leaves
}

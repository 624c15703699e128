package whir

import (
	"github.com/prove-model/prove-model/prover/code"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/parallel"
)

// stackRows are the rows of [Passes] in memory; nil where the table has no row.
type stackRows struct {
	rowVars int
	rows    [][]int32
}

// loadRows reads every row once.
func loadRows(rowVars, slotVars int, srcs []RowSource, offsets []uint64) *stackRows {
	s := &stackRows{rowVars, make([][]int32, 1<<slotVars)}
	for t, src := range srcs {
		first := int(offsets[t])
		parallel.For(src.Rows(), 1, func(from, to int) {
			for i := from; i < to; i++ {
				s.rows[first+i] = make([]int32, 1<<rowVars)
				src.FillRow(i, s.rows[first+i])
			}
		})
	}
	return s
}

// foldGrain is the least number of columns worth a goroutine.
const foldGrain = 1 << 9

// fold returns what long rows fold to with the weights: a table of n =
// rows/len(weights) rows over K, row l of which is Σ_h weights[h]·(row h·n + l).
func (s *stackRows) fold(weights []field.QM31) []field.QM31 {
	n := len(s.rows) / len(weights)
	f := make([]field.QM31, n<<s.rowVars)
	parallel.For(len(f), foldGrain, func(from, to int) {
		// Columns in pieces, so that the sums stay in the first-level cache
		// while the rows pass by.
		for from < to {
			l, lo := from>>s.rowVars, from&(1<<s.rowVars-1)
			hi := min(lo+foldGrain, lo+to-from, 1<<s.rowVars)
			for h, w := range weights {
				if row := s.rows[h*n+l]; row != nil {
					field.MulAccInt32Vec(f[from:from+hi-lo], row[lo:hi], w)
				}
			}
			from += hi - lo
		}
	})
	return f
}

// columns is described at Passes.
func (s *stackRows) columns(first, n, logBlowup int, positions []uint64) [][]field.M31 {
	leaves := make([][]field.M31, len(positions))
	for k := range leaves {
		leaves[k] = make([]field.M31, n)
	}
	parallel.For(n, 1, func(from, to int) {
		coeffs := make([]field.M31, 1<<s.rowVars)
		scratch := make([]field.M31, 1<<s.rowVars)
		values := make([]field.M31, len(positions))
		for i := from; i < to; i++ {
			field.FromInt32Vec(coeffs, s.rows[first+i])
			code.EncodeAt(values, coeffs, s.rowVars+logBlowup, positions, scratch)
			for k, v := range values {
				leaves[k][i] = v
			}
		}
	})
	return leaves
}

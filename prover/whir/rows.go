package whir

import (
	"github.com/prove-model/prove-model/prover/arena"
	"github.com/prove-model/prove-model/prover/code"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/parallel"
)

// stackRows are the rows of [Passes] in memory: the table rows of the table, nil
// where no tree has one.
type stackRows struct {
	rowVars int
	rows    [][]int32
	trees   []placed
}

// placed is a tree's place in the table.
type placed struct {
	Layout
	shift    int
	firstRow uint64 // of the table
}

// loadRows reads every row once.
func loadRows(a *arena.Arena, rowVars, slotVars int, layouts []Layout, srcs []RowSource, offsets []uint64) *stackRows {
	s := &stackRows{rowVars, make([][]int32, 1<<slotVars), make([]placed, len(srcs))}
	for t, src := range srcs {
		p := placed{layouts[t], rowVars - layouts[t].RowVars, offsets[t]}
		s.trees[t] = p
		used := p.TableRows(p.shift)
		parallel.For(len(used), 1, func(from, to int) {
			for _, r := range used[from:to] {
				row := arena.Make[int32](a, 1<<rowVars)
				p.FillTableRow(src, p.shift, r, row)
				s.rows[p.firstRow+r] = row
			}
		})
	}
	return s
}

// foldGrain is the least number of columns worth a goroutine.
const foldGrain = 1 << 9

// fold returns what table rows fold to with the weights: a table of n =
// rows/len(weights) rows over K, row l of which is Σ_h weights[h]·(row h·n + l).
func (s *stackRows) fold(a *arena.Arena, weights []field.QM31) []field.QM31 {
	n := len(s.rows) / len(weights)
	f := arena.Zeros[field.QM31](a, n<<s.rowVars)
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
func (s *stackRows) columns(tree int, positions []uint64) [][]field.M31 {
	p := &s.trees[tree]
	slots := p.rowSlots()
	leaves := make([][]field.M31, len(positions))
	for k := range leaves {
		leaves[k] = make([]field.M31, len(slots))
	}
	parallel.For(len(slots), 1, func(from, to int) {
		own := make([]int32, 1<<p.RowVars)
		coeffs := make([]field.M31, 1<<p.RowVars)
		scratch := make([]field.M31, 1<<p.RowVars)
		values := make([]field.M31, len(positions))
		for i := from; i < to; i++ {
			row := s.rows[p.firstRow+slots[i]>>p.shift]
			if p.shift > 0 {
				row = row[column(slots[i], 0, p.shift):]
				for c := range own {
					own[c] = row[c<<p.shift]
				}
				row = own
			}
			field.FromInt32Vec(coeffs, row)
			code.EncodeAt(values, coeffs, p.LogDomain(), positions, scratch)
			for k, v := range values {
				leaves[k][i] = v
			}
		}
	})
	return leaves
}

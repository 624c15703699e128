package whir

import (
	"github.com/prove-model/prove-model/prover/arena"
	"github.com/prove-model/prove-model/prover/bytedot"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/parallel"
)

// stackRows are the rows of [Passes] in memory: the table rows of the table as planes of
// bytes (bytedot.Split), as many as a row's values need and none for zeros.
type stackRows struct {
	rowVars int
	rows    [][][]int8
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
	s := &stackRows{rowVars, make([][][]int8, 1<<slotVars), make([]placed, len(srcs))}
	for t, src := range srcs {
		p := placed{layouts[t], rowVars - layouts[t].RowVars, offsets[t]}
		s.trees[t] = p
		used := p.TableRows(p.shift)
		parallel.For(len(used), 1, func(from, to int) {
			row := make([]int32, 1<<rowVars)
			for _, r := range used[from:to] {
				p.FillTableRow(src, p.shift, r, row)
				s.rows[p.firstRow+r] = bytedot.Split(row, func() []int8 { return arena.Make[int8](a, len(row)) })
			}
		})
	}
	return s
}

// free gives the rows back to the arena.
func (s *stackRows) free(a *arena.Arena) {
	for _, row := range s.rows {
		for _, plane := range row {
			arena.Free(a, plane)
		}
	}
}

// foldGrain is the least number of columns worth a goroutine.
const foldGrain = 1 << 9

// fold returns what table rows fold to with the weights: a table of n =
// rows/len(weights) rows over K, row l of which is Σ_h weights[h]·(row h·n + l).
func (s *stackRows) fold(a *arena.Arena, weights []field.QM31) []field.QM31 {
	n := len(s.rows) / len(weights)
	f := arena.Make[field.QM31](a, n<<s.rowVars)
	parallel.For(len(f), foldGrain, func(from, to int) {
		var values [foldGrain]int32
		// Columns in pieces, so that the sums stay in the first-level cache
		// while the rows pass by.
		for from < to {
			l, lo := from>>s.rowVars, from&(1<<s.rowVars-1)
			hi := min(lo+foldGrain, lo+to-from, 1<<s.rowVars)
			sums := f[from : from+hi-lo]
			clear(sums)
			for h, w := range weights {
				if row := s.rows[h*n+l]; row != nil {
					bytedot.Join(values[:hi-lo], row, lo)
					field.MulAccInt32Vec(sums, values[:hi-lo], w)
				}
			}
			from += hi - lo
		}
	})
	return f
}

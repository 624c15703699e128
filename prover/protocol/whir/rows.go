package whir

import (
	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/arena"
	"github.com/prove-model/prove-model/prover/math/bytedot"
	"github.com/prove-model/prove-model/prover/math/field"
)

// stackRows is the table of [Passes]. Most table rows are read from their sources whenever
// they are wanted, which takes less time than keeping them.
type stackRows struct {
	rowVars int        // a table row has 2^rowVars values
	rows    []tableRow // all rows of the table, a power of two of them
	trees   []placed
}

// placed is a tree's place in the table.
type placed struct {
	Layout
	src      RowSource
	shift    int    // 2^shift of the tree's slots make a table row (layout.go)
	firstRow uint64 // the table row that slot 0 is in
}

// auxiliary returns the tree with the auxiliary row, which a hiding opening has.
func (s *stackRows) auxiliary() *placed {
	for i := range s.trees {
		if s.trees[i].Auxiliary {
			return &s.trees[i]
		}
	}
	panic("whir: no auxiliary row")
}

// tableRow is where a table row comes from.
type tableRow struct {
	tree   *placed  // nil if no tree has values there
	planes [][]int8 // the row's values as planes of bytes (bytedot.Split), if its tree's are kept; nil if all are 0
}

// keptShift is the least shift with which table rows are kept. Such a table row is made of
// 2^keptShift = 16 or more rows of its tree, so a piece of it has few values of each of them,
// and reading these one by one would take long.
const keptShift = 4

// Keeps says whether passes keep the rows of a tree whose rows are 2^shift times shorter
// than those of the table.
func Keeps(shift int) bool { return shift >= keptShift }

// loadRows returns the table of 2^slotVars rows of 2^rowVars values in which slot 0 of tree i
// begins table row offsets[i]. It reads the trees whose rows are kept (Keeps), on memory of
// the arena.
func loadRows(a *arena.Arena, rowVars, slotVars int, layouts []Layout, srcs []RowSource, offsets []uint64) *stackRows {
	s := &stackRows{rowVars, make([]tableRow, 1<<slotVars), make([]placed, len(srcs))}
	for t, src := range srcs {
		p := &s.trees[t]
		*p = placed{layouts[t], src, rowVars - layouts[t].RowVars, offsets[t]}
		used := p.TableRows(p.shift)
		for _, r := range used {
			s.rows[p.firstRow+r].tree = p
		}
		if !Keeps(p.shift) {
			continue
		}
		parallel.For(len(used), 1, func(from, to int) {
			row := make([]int32, 1<<rowVars)
			for _, r := range used[from:to] {
				p.FillTableRow(src, p.shift, r, 0, row)
				s.rows[p.firstRow+r].planes = bytedot.Split(row, func() []int8 { return arena.Make[int8](a, len(row)) })
			}
		})
	}
	return s
}

// fill sets dst to the values of a table row from value number `from` on. It returns false,
// and leaves dst as it is, if it knows that the row is zero.
func (s *stackRows) fill(row, from int, dst []int32) bool {
	r := &s.rows[row]
	switch {
	case r.tree == nil:
		return false
	case !Keeps(r.tree.shift):
		r.tree.FillTableRow(r.tree.src, r.tree.shift, uint64(row)-r.tree.firstRow, from, dst)
	case r.planes == nil:
		return false
	default:
		bytedot.Join(dst, r.planes, from)
	}
	return true
}

// free gives the planes of kept rows back to the arena.
func (s *stackRows) free(a *arena.Arena) {
	for _, row := range s.rows {
		for _, plane := range row.planes {
			arena.Free(a, plane)
		}
	}
}

// foldGrain is the least number of columns worth a goroutine.
const foldGrain = 1 << 10

// fold returns the table of n = (number of rows)/len(weights) rows over K, row l of which is
// Σ_h weights[h]·(table row h·n + l).
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
				if s.fill(h*n+l, lo, values[:hi-lo]) {
					field.MulAccInt32Vec(sums, values[:hi-lo], w)
				}
			}
			from += hi - lo
		}
	})
	return f
}

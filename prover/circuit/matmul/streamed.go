package matmul

import (
	"runtime"

	"github.com/prove-model/prove-model/internal/parallel"
)

// In Streamed a task takes up to streamedColumns rows of the matrix b that is read, streamedPart entries of
// each at a time, which stay in the second-level cache. The other matrix is packed in panels of panelWidth
// rows, of which stripDepth entries each, at a time, stay in the first-level cache.
const (
	streamedColumns = 32
	streamedPart    = 512
	panelWidth      = 64
)

// Streamed sets out, m×n, to a·bᵀ for a of m×k, in float64, and b of n×k, which is not in memory: read sets dst
// to the entries of b from number from on, row-major, and may be called by several goroutines at once.
// Products are rounded before they are added, and added in the order of k, as Float does.
func Streamed(out, a []float64, m, k, n int, read func(dst []float32, from int)) {
	if m == 0 || n == 0 {
		return
	}
	p := newPanels(a, m, k)
	columns := max(lanes, min(streamedColumns, n/(4*runtime.GOMAXPROCS(0))))
	parallel.For(ceilDiv(n, columns), max(1, taskWork/max(1, columns*m*k)), func(lo, hi int) {
		sums, part := make([]float64, columns*p.rows), make([]float32, columns*min(k, streamedPart))
		for t := lo; t < hi; t++ {
			from := t * columns
			some := min(columns, n-from)
			clear(sums)
			for c := 0; c < k; c += streamedPart {
				depth := min(streamedPart, k-c)
				for j := range some {
					read(part[j*depth:(j+1)*depth], (from+j)*k+c)
				}
				p.add(sums, part[:some*depth], some, c)
			}
			for j := range some {
				for i, s := range sums[j*p.rows : j*p.rows+m] {
					out[i*n+from+j] = s
				}
			}
		}
	})
}

// panels is a matrix, m×k, stored in panels of up to panelWidth rows each, in which the entries of a
// column are adjacent. The number of rows is filled up with rows of zeros to a multiple of lanes.
type panels struct {
	data    []float64
	rows, k int // the number of rows with those of zeros, and of columns
}

// newPanels packs the matrix a, m×k and row-major.
func newPanels(a []float64, m, k int) *panels {
	p := &panels{rows: ceilDiv(m, lanes) * lanes, k: k}
	p.data = make([]float64, p.rows*k)
	parallel.For(k, max(1, taskWork/p.rows), func(lo, hi int) {
		for row := 0; row < m; row += panelWidth {
			panel, width := p.panel(row)
			for i := range min(width, m-row) {
				for c, x := range a[(row+i)*k+lo : (row+i)*k+hi] {
					panel[(lo+c)*width+i] = x
				}
			}
		}
	})
	return p
}

// panel returns the panel that begins with the given row, a multiple of panelWidth,
// and the number of its rows.
func (p *panels) panel(row int) (part []float64, width int) {
	width = min(panelWidth, p.rows-row)
	return p.data[row*p.k : (row+width)*p.k], width
}

// add adds, for each of some columns and each row of p, the products of their entries from index c on. part has these entries of the
// columns, one column after the other, and sums has p.rows sums for each column.
func (p *panels) add(sums []float64, part []float32, some, c int) {
	var x [stripDepth]float64
	all := len(part) / some
	for row := 0; row < p.rows; row += panelWidth {
		panel, width := p.panel(row)
		for from := 0; from < all; from += stripDepth {
			depth := min(stripDepth, all-from)
			rows := panel[(c+from)*width : (c+from+depth)*width]
			for j := range some {
				for i, v := range part[j*all+from : j*all+from+depth] {
					x[i] = float64(v)
				}
				floatRows(sums[j*p.rows+row:][:width], x[:depth], rows, width)
			}
		}
	}
}

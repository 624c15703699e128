package matmul

import (
	"runtime"
	"sync"

	"github.com/prove-model/prove-model/internal/parallel"
)

// A task computes a strip of columns of the result for a group of rows. It sums over stripDepth indexes
// at a time, so that this part of the strip, which it reads again for every row, stays in the first-level cache.
const (
	stripWidth = 128
	stripDepth = 64
	// rowDepth is the number of entries of a row that are taken at a time. They are mostly
	// adjacent.
	rowDepth = 256
	// directWidth and directDepth take the place of stripWidth and stripDepth for columns that are not copied. They are read in the
	// order of memory, which is fastest for wide strips of few rows.
	directWidth = 1024
	directDepth = 8
	// mostRows is the most rows of a group, which bounds the memory for a task's sums. If there would
	// be too few tasks for all cores, groups get fewer rows, but not fewer than leastRows, since each group
	// copies its columns again.
	mostRows  = 256
	leastRows = 32
	// The width of a strip is a multiple of lanes where possible.
	lanes = 8
)

// multiply is Int and Float for many rows or columns that are not adjacent. kernel adds x[c] times row c of a matrix to s, for all c; the
// rows are stride entries apart. direct does the same for columns that are read in place; it is nil if there is no such kernel.
func multiply[A, B Number, X int32 | float64, S int64 | float64](dst []S, coef S, out []int, a Operand[A], b Operand[B],
	kernel func(s []S, x, rows []X, stride int), direct func(s []S, x []X, rows []B, stride int)) {
	m, n, k := len(a.Free), len(b.Free), len(a.K)
	if m == 0 || n == 0 {
		return
	}
	if m >= fewRows || !consecutive(b.Free) {
		direct = nil
	}
	width, strips, depth := stripsOf(n, direct != nil)
	tasks := 4 * runtime.GOMAXPROCS(0)
	group := min(m, mostRows, max(leastRows, m*len(out)*strips/tasks))
	groups := ceilDiv(m, group)
	work := max(1, group*width*k)
	parallel.For(len(out)*strips*groups, max(1, taskWork/work), func(lo, hi int) {
		room := borrow[X, S]()
		defer rooms.Put(room)
		sums, panel, xs := room.take(group*width, depth*width, group*min(k, rowDepth))
		for t := lo; t < hi; t++ {
			batch, from, row := t/(strips*groups), t/groups%strips*width, t%groups*group
			free, rows := b.Free[from:min(n, from+width)], a.Free[row:min(m, row+group)]
			w := width
			if direct != nil {
				w = len(free)
			}
			s := sums[:len(rows)*w]
			clear(s)
			for c := 0; c < k; c += rowDepth {
				ka, kb := a.K[c:min(k, c+rowDepth)], b.K[c:min(k, c+rowDepth)]
				gatherRows(xs, a.Data[a.Batch[batch]:], rows, ka)
				for at := 0; at < len(kb); at += depth {
					some := kb[at:min(len(kb), at+depth)]
					if direct == nil {
						pack(panel, width, b.Data[b.Batch[batch]:], free, some)
					}
					for i := range rows {
						si, x := s[i*w:(i+1)*w], xs[i*len(ka)+at:][:len(some)]
						if direct == nil {
							kernel(si, x, panel, width)
						} else {
							addDirect(si, x, b.Data[b.Batch[batch]+free[0]:], some, direct)
						}
					}
				}
			}
			for i := range rows {
				addAt(dst[out[batch]+a.Out[row+i]:], b.Out[from:from+len(free)], coef, s[i*w:])
			}
		}
	})
}

// stripsOf cuts n columns into strips of one width, a multiple of lanes, and returns the width, the number of strips, and over how many
// indexes a task sums at a time. direct says that columns are read in place.
func stripsOf(n int, direct bool) (width, strips, depth int) {
	most, depth := stripWidth, stripDepth
	if direct {
		most, depth = directWidth, directDepth
	}
	width = ceilDiv(ceilDiv(n, ceilDiv(n, most)), lanes) * lanes
	return width, ceilDiv(n, width), depth
}

// addAt adds coef times the sums of a row to the entries at offsets.
func addAt[S int64 | float64](dst []S, offsets []int, coef S, sums []S) {
	for j, o := range offsets {
		dst[o] += S(coef * sums[j]) // the conversion forbids a fused multiply-add
	}
}

// rooms has the scratch memory of finished tasks, for reuse. Thousands of matrices are multiplied;
// fresh memory for each task would grow to hundreds of megabytes between garbage collections.
var rooms sync.Pool

// room is the scratch memory of a task.
type room[X int32 | float64, S int64 | float64] struct {
	sums      []S
	panel, xs []X
}

// borrow returns a room, new or used before.
func borrow[X int32 | float64, S int64 | float64]() *room[X, S] {
	if r, ok := rooms.Get().(*room[X, S]); ok {
		return r
	}
	return new(room[X, S])
}

// take returns uninitialised memory for the given numbers of sums, of entries of a panel, and of
// entries of rows.
func (r *room[X, S]) take(sums, panel, xs int) ([]S, []X, []X) {
	r.sums, r.panel, r.xs = atLeast(r.sums, sums), atLeast(r.panel, panel), atLeast(r.xs, xs)
	return r.sums[:sums], r.panel[:panel], r.xs[:xs]
}

// atLeast returns a slice of at least n entries: v if its capacity is large enough, else a new one.
func atLeast[T any](v []T, n int) []T {
	if cap(v) < n {
		return make([]T, n)
	}
	return v[:cap(v)]
}

// gatherRows sets row i of dst, len(offsets) wide, to the entries of src at
// rows[i] + offsets[…].
func gatherRows[X int32 | float64, A Number](dst []X, src []A, rows, offsets []int) {
	n, together := len(offsets), consecutive(offsets)
	for i, r := range rows {
		row := dst[i*n : (i+1)*n]
		if together {
			convert(row, src[r+offsets[0]:][:n])
		} else {
			gather(row, src[r:], offsets)
		}
	}
}

// addDirect adds the rows of data at the offsets to s, each times an entry of x. It calls kernel
// once if the offsets are evenly spaced, else once for each row.
func addDirect[B Number, X int32 | float64, S int64 | float64](s []S, x []X, data []B, offsets []int, kernel func(s []S, x []X, rows []B, stride int)) {
	stride := len(s)
	if len(offsets) > 1 {
		stride = offsets[1] - offsets[0]
	}
	for i, o := range offsets {
		if stride < len(s) || o != offsets[0]+i*stride {
			for i, o := range offsets {
				kernel(s, x[i:i+1], data[o:], len(s))
			}
			return
		}
	}
	kernel(s, x, data[offsets[0]:], stride)
}

// pack sets row i of panel, which has width entries, to the entries of src at
// rows[i] + free[0], rows[i] + free[1], …, followed by zeros.
func pack[X int32 | float64, B Number](panel []X, width int, src []B, free, rows []int) {
	for i, r := range rows {
		row := panel[i*width : (i+1)*width]
		gather(row, src[r:], free)
		clear(row[len(free):])
	}
}

// ceilDiv returns ⌈a/b⌉ for a ≥ 0 and b > 0.
func ceilDiv(a, b int) int { return (a + b - 1) / b }
